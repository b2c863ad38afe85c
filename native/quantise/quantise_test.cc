// A whole quantisation of a small model: the file's promises, and the same bytes whatever the
// threads, kills and damage on the way.
#include "quantise/quantise.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/rng.h"
#include "device/host/host_device.h"
#include "model/model.h"
#include "model/resident_experts.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// One model and one text for all tests here.
struct Bench {
  TempDir dir;
  std::string model, text;

  Bench() {
    SyntheticOptions options = options_for("mini-four");
    options.expert_format = Format::kMXFP4;
    options.dense_format = Format::kMXFP8;
    options.engram_format = Format::kMXFP8;
    model = write(dir, options);
    text = dir.write("ids", ids(8, 48));
  }

  static std::string ids(int sequences, int tokens) {
    std::string out;
    for (int s = 0; s < sequences; ++s) {
      for (int t = 0; t < tokens; ++t) {
        const uint64_t bits = splitmix64(static_cast<uint64_t>(1000 * s + t));
        out += std::to_string(3 + bits % 60) + " ";
      }
      out += "\n";
    }
    return out;
  }

  QuantiseOptions options(const std::string& name) const {
    QuantiseOptions o;
    o.model = model;
    o.out = dir / name;
    o.text.fit = {text};
    o.window = 48;
    o.threads = 2;
    return o;
  }
};

Bench& bench() {
  static Bench instance;
  return instance;
}

struct Files {
  std::string model, sidecar, report;
  bool operator==(const Files&) const = default;
};

Files files_of(const std::string& out) {
  const std::string stem = out.substr(0, out.size() - 5);
  return {read_file(out), read_file(stem + ".dspark.gguf"), read_file(stem + ".quantise.json")};
}

Files run(const QuantiseOptions& options) {
  const auto done = quantise(options);
  REQUIRE_MESSAGE(done.ok(), done.status().message());
  CHECK_FALSE(fs::exists(options.out + ".work"));
  return files_of(options.out);
}

const Files& reference() {
  static const Files files = run(bench().options("reference.gguf"));
  return files;
}

// kill -9 by itself once `units` of the progress are done.
void run_and_kill(QuantiseOptions options, const std::string& phase, uint64_t units) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    options.progress = [&](const char* now, uint64_t, uint64_t done, uint64_t) {
      if (now == phase && done >= units) kill(getpid(), SIGKILL);
    };
    const auto done = quantise(options);
    _exit(done.ok() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK_FALSE(fs::exists(options.out));
}

TEST_CASE("the files: formats by the report, dense half in eight bits, the rest as it was") {
  reference();
  const auto before = open(bench().model), after = open(bench().dir / "reference.gguf");
  const Json report = Json::parse(reference().report);
  const Config& c = after->config();
  for (int layer = 0; layer < c.layers; ++layer) {
    std::map<std::string, int> mix = {{"PTQ1_0", 0}, {"Q2_0", 0}, {"Q3_K", 0}};
    for (int e = 0; e < c.experts; ++e) {
      ++mix[format_info(after->expert(layer, e).format[0]).name];
    }
    CHECK(report["layers"][static_cast<size_t>(layer)]["experts"] == Json(mix));
    CHECK(2 * mix["PTQ1_0"] <= c.experts);
    CHECK(after->target(Role::kAttnQA, layer).format == Format::kQ8_0);
  }
  CHECK(report["mix"]["bytes"] <= report["mix"]["budgetBytes"]);
  CHECK(after->totals().experts == report["mix"]["bytes"]);
  CHECK(after->target(Role::kEngramEmbed, 1).format == Format::kMXFP8);
  CHECK(after->draft(Role::kAttnQA, 0).format == Format::kQ8_0);
  CHECK(after->draft_expert(0, 1).format[0] == Format::kMXFP4);
  const auto draft_bytes = [](const WeightSource& source) {
    const FileSpan& span = source.draft_expert(0, 1).spans[0];
    return std::string(reinterpret_cast<const char*>(source.mapped(span)), span.bytes);
  };
  CHECK(draft_bytes(*before) == draft_bytes(*after));
  const auto keys = Gguf::open(bench().dir / "reference.gguf");
  CHECK(keys.value().string_array("tokenizer.ggml.tokens").value() ==
        Gguf::open(bench().model).value().string_array("tokenizer.ggml.tokens").value());
}

// Log-probabilities [rows, vocab] of a sequence, by the model as an engine would run it.
std::vector<double> log_probabilities(const std::string& path, const std::vector<int>& tokens) {
  const auto source = open(path);
  const std::unique_ptr<Device> device = make_host_device(nullptr);
  const int rows = static_cast<int>(tokens.size());
  auto model = Model::load(*source, *device, {.ctx = 64, .max_rows = 64, .max_logit_rows = 64});
  REQUIRE(model.ok());
  ResidentExperts experts(*source, ResidentExperts::Which::kTarget, false);
  REQUIRE(model.value()->forward(tokens, PassKind::kPrefill, experts, 0).ok());
  const int vocab = source->config().vocab;
  std::vector<double> out;
  for (int r = 0; r < rows; ++r) {
    const float* logits = model.value()->logits(r);
    double sum = 0;
    for (int i = 0; i < vocab; ++i) sum += std::exp(static_cast<double>(logits[i]));
    for (int i = 0; i < vocab; ++i) out.push_back(static_cast<double>(logits[i]) - std::log(sum));
  }
  return out;
}

TEST_CASE(
    "what the last round saw is what ships: both models run whole differ as the report says") {
  reference();
  const Json report = Json::parse(reference().report)["heldOut"];
  double divergence = 0, nats = 0, shipped_nats = 0;
  size_t positions = 0;
  const auto pieces = read_pieces({{bench().text}, {}}, 48, open(bench().model)->config());
  for (const Piece& piece : pieces.value()) {
    if (!piece.held_out) continue;
    const auto before = log_probabilities(bench().model, piece.tokens),
               after = log_probabilities(bench().dir / "reference.gguf", piece.tokens);
    const size_t vocab = before.size() / piece.tokens.size();
    for (size_t r = 0; r + 1 < piece.tokens.size(); ++r, ++positions) {
      const size_t next = r * vocab + static_cast<size_t>(piece.tokens[r + 1]);
      nats -= before[next];
      shipped_nats -= after[next];
      for (size_t i = r * vocab; i < (r + 1) * vocab; ++i) {
        divergence += std::exp(before[i]) * (before[i] - after[i]);
      }
    }
  }
  const double n = static_cast<double>(positions);
  CHECK(report["tokens"] == positions);
  CHECK(report["sourceNatsPerToken"].get<double>() == doctest::Approx(nats / n).epsilon(1e-3));
  CHECK(report["shippedNatsPerToken"].get<double>() ==
        doctest::Approx(shipped_nats / n).epsilon(1e-3));
  // Sums in another order may turn a close choice of experts.
  CHECK(report["divergenceNatsPerToken"].get<double>() ==
        doctest::Approx(divergence / n).epsilon(0.02));
}

TEST_CASE("any number of threads, the same bytes") {
  QuantiseOptions options = bench().options("threads.gguf");
  options.threads = 1;
  CHECK(run(options) == reference());
}

TEST_CASE("killed in either round and started again, the same bytes") {
  const QuantiseOptions options = bench().options("killed.gguf");
  // A layer is 8 pieces and 6 experts: in the middle of a layer's experts, then of its pieces.
  run_and_kill(options, "trying formats", 14 + 11);
  run_and_kill(options, "trying formats", 2 * 14 + 3);
  CHECK(fs::exists(options.out + ".work/round1.1.record"));
  run_and_kill(options, "fitting", 3 * 14 + 9);
  CHECK(fs::exists(options.out + ".work/round2.2.record"));
  uint64_t started_at = 0;
  QuantiseOptions again = options;
  again.progress = [&](const char*, uint64_t start, uint64_t, uint64_t) { started_at = start; };
  CHECK(run(again) == reference());
  CHECK(started_at == 3 * 14);  // not from the beginning
}

TEST_CASE("finished work that was damaged since is made again") {
  const QuantiseOptions options = bench().options("damaged.gguf");
  run_and_kill(options, "fitting", 2 * 14 + 9);
  for (const char* name : {"round1.2.record", "round1.3.states", "round2.0.record"}) {
    const std::string path = options.out + ".work/" + name;
    std::string bytes = read_file(path);
    REQUIRE(bytes.size() > 100);
    bytes[100] = static_cast<char>(bytes[100] ^ 4);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  CHECK(run(options) == reference());
}

TEST_CASE("other text does not go on with this text's work") {
  QuantiseOptions options = bench().options("other.gguf");
  run_and_kill(options, "trying formats", 3);
  options.text.fit = {bench().dir.write("other-ids", Bench::ids(9, 48))};
  CHECK(quantise(options).status().code() == Code::kUsage);
  fs::remove_all(options.out + ".work");
}

TEST_CASE("experts of which too little was measured keep Q2_0") {
  QuantiseOptions options = bench().options("few.gguf");
  // 16 tokens, two experts each of six: some have fewer than 8.
  options.text.held_out = {bench().dir.write("few-ids", Bench::ids(1, 16))};
  const Json report = Json::parse(run(options).report);
  const auto after = open(options.out);
  int locked = 0;
  for (int layer = 0; layer < after->config().layers; ++layer) {
    const Json& of_layer = report["layers"][static_cast<size_t>(layer)];
    const int few = of_layer["expertsSeenTooLittle"];
    locked += few;
    CHECK(of_layer["experts"]["Q2_0"] >= few);
  }
  CHECK(locked > 0);
}

TEST_CASE("what is refused before any work") {
  QuantiseOptions options = bench().options("no-gguf");
  CHECK(quantise(options).status().message().starts_with("--out must be named STEM.gguf, not"));
  SyntheticOptions small = options_for("mini-xs");
  options.model = write(bench().dir, small, "xs.gguf");
  options.out = bench().dir / "xs-out.gguf";
  CHECK(quantise(options).status().message() ==
        "this model's experts do not fit: PTQ1_0 needs rows of a multiple of 128 weights, not 64");
  CHECK_FALSE(fs::exists(options.out + ".work"));
}

}  // namespace
}  // namespace rota
