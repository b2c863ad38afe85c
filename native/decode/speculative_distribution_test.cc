// Sampling under speculation draws whole answers from the target's distribution: chi-square of many
// seeds against the exact probabilities of every answer, over a mini model with its own drafter,
// with scripted drafts that are spoilt every other time, and with drafts of a stated acceptance.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/temp_dir.h"
#include "decode/decoder.h"
#include "device/host/host_device.h"
#include "experts/file_blobs.h"
#include "experts/tiered_experts.h"
#include "model/synthetic_model.h"
#include "model/weight_source.h"

namespace rota {
namespace {

constexpr int kTokens = 4;    // the first is the prompt's; a pass drafts two more and gives a third
constexpr int kSeeds = 1500;  // fixed: the test gives the same statistic every time
constexpr double kZ = 3.0902;  // declared before any was looked at: one-sided 0.001 of a normal
using Answer = std::array<int, kTokens>;

// The real parts of an engine over a mini model, all experts in RAM.
struct RealBench {
  TempDir folder;
  ThreadPool threads{ThreadPoolOptions{.threads = 1, .pin = false}};
  std::unique_ptr<Device> device = make_host_device(&threads);
  std::unique_ptr<WeightSource> weights;
  std::unique_ptr<FileBlobs> blobs, draft_blobs;
  std::unique_ptr<Model> model;
  std::unique_ptr<TieredExperts> experts;
  std::unique_ptr<DraftExperts> draft_experts;
  std::unique_ptr<DraftOracle> oracle;
  std::atomic<bool> cancelled{false};
  GenerateRequest request;

  RealBench() {
    SyntheticOptions synthetic;
    synthetic.config = "mini-xs";
    const std::string path = folder / "mini-xs.gguf";
    REQUIRE(write_synthetic_model(synthetic, path).ok());
    weights = std::move(WeightSource::open(path)).value();
    blobs = std::move(FileBlobs::open(*weights, FileBlobs::Half::kTarget)).value();
    draft_blobs = std::move(FileBlobs::open(*weights, FileBlobs::Half::kDraft)).value();
    ModelOptions options;
    options.ctx = 16;
    options.max_rows = 8;
    model = std::move(Model::load(*weights, *device, options)).value();
    TieredOptions tiers;
    tiers.placement.arena_bytes = UINT64_MAX;
    experts = std::move(TieredExperts::load(*blobs, threads, shape(config().top_k), tiers, nullptr))
                  .value();
    draft_experts =
        std::move(DraftExperts::load(*draft_blobs, threads, shape(config().draft_top_k))).value();
    request.prompt = {17, 99};
    request.max_new = kTokens;
    request.ignore_eos = true;
    request.sampling.temperature = 0.4;
    request.sampling.top_p = 0.75;
  }
  const Config& config() const { return weights->config(); }
  ExpertShape shape(int top_k) const {
    const Config& c = config();
    return {c.dim, c.moe_inter, 8, top_k, c.swiglu_limit, false};
  }
  Decoder decoder(int depth, double confidence, std::optional<double> accept = {}) {
    return Decoder({model.get(), experts.get(), draft_experts.get(), oracle.get(), nullptr},
                   {depth, confidence, 8, accept});
  }
  GenerateResult generate(Decoder& decoder, uint64_t seed) {
    request.sampling.seed = seed;
    auto result = decoder.generate(request, 0, cancelled, nullptr);
    REQUIRE(result.ok());
    return std::move(result).value();
  }
  int first_token(Decoder& decoder) {
    auto result = decoder.generate(request, 0, cancelled, nullptr);
    REQUIRE(result.ok());
    return result->ids[0];
  }
  // The first token and what the model says after it greedily.
  std::string greedy_line(Decoder& decoder, int first) {
    GenerateRequest rest = request;
    rest.prompt.push_back(first);
    rest.max_new = kTokens - 1;
    rest.sampling = {};
    auto result = decoder.generate(rest, 0, cancelled, nullptr);
    REQUIRE(result.ok());
    std::string line = std::to_string(first);
    for (const int id : result->ids) line += " " + std::to_string(id);
    return line;
  }
};

// The exact probability of every answer: each prefix that can happen is read and its row's
// distribution taken.
void enumerate(RealBench& bench, Answer& answer, int at, double probability,
               std::map<Answer, double>& exact) {
  if (at == kTokens) {
    exact[answer] = probability;
    return;
  }
  std::vector<int> tokens = bench.request.prompt;
  tokens.insert(tokens.end(), answer.begin(), answer.begin() + at);
  const auto vocab = static_cast<size_t>(bench.config().vocab);
  REQUIRE(bench.model->truncate(0).ok());
  REQUIRE(
      bench.model
          ->forward(tokens, PassKind::kPrefill, *bench.experts, static_cast<int>(tokens.size()) - 1)
          .ok());
  Distribution distribution(bench.config().vocab);
  std::vector<float> p(vocab);
  distribution.fill({bench.model->logits(static_cast<int>(tokens.size()) - 1), vocab},
                    bench.request.sampling, p);
  for (size_t v = 0; v < vocab; ++v) {
    if (p[v] == 0) continue;
    answer[static_cast<size_t>(at)] = static_cast<int>(v);
    enumerate(bench, answer, at + 1, probability * static_cast<double>(p[v]), exact);
  }
}

std::map<Answer, double> exact_answers(RealBench& bench) {
  std::map<Answer, double> exact;
  Answer answer{};
  enumerate(bench, answer, 0, 1, exact);
  return exact;
}

struct ChiSquare {
  double statistic = 0;
  int cells = 0;
  int impossible = 0;  // answers that have no probability at all
  // The 0.999 quantile of cells - 1 degrees of freedom, by Wilson and Hilferty.
  double limit() const {
    const double k = cells - 1, spread = 2 / (9 * k);
    return k * std::pow(1 - spread + kZ * std::sqrt(spread), 3);
  }
};

// Answers that are expected fewer than 5 times share a cell.
ChiSquare chi_square(const std::map<Answer, double>& exact, const std::map<Answer, int>& seen) {
  ChiSquare out;
  double rare_expected = 0, rare_seen = 0;
  for (const auto& [answer, probability] : exact) {
    const double expected = probability * kSeeds;
    const auto it = seen.find(answer);
    const double count = it == seen.end() ? 0 : it->second;
    if (expected < 5) {
      rare_expected += expected;
      rare_seen += count;
      continue;
    }
    out.statistic += (count - expected) * (count - expected) / expected;
    ++out.cells;
  }
  if (rare_expected > 0) {
    out.statistic += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
    ++out.cells;
  }
  for (const auto& [answer, count] : seen) out.impossible += exact.contains(answer) ? 0 : count;
  return out;
}

struct Sampled {
  std::map<Answer, int> seen;
  PassTotals totals;
  int64_t judged = 0;  // drafts up to the first that fell, those behind it are never asked about
};

Sampled sample_answers(RealBench& bench, int depth, double confidence,
                       std::optional<double> accept = {}) {
  Sampled out;
  bench.request.max_new = kTokens;
  Decoder decoder = bench.decoder(depth, confidence, accept);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const GenerateResult result = bench.generate(decoder, static_cast<uint64_t>(seed));
    out.totals.add(result.decode);
    Answer answer;
    std::copy_n(result.ids.begin(), kTokens, answer.begin());
    ++out.seen[answer];
    int left = kTokens - 1;
    for (const int tokens : result.pass_tokens) {
      out.judged += std::min(tokens, std::min(depth, left - 1));
      left -= tokens;
    }
  }
  return out;
}

void check(const std::map<Answer, double>& exact, const Sampled& sampled) {
  const ChiSquare found = chi_square(exact, sampled.seen);
  MESSAGE("chi-square ", found.statistic, " of ", found.cells, " cells, limit ", found.limit(),
          "; accepted ", sampled.totals.accepted, " of ", sampled.totals.offered);
  CHECK(found.cells > 15);
  CHECK(found.impossible == 0);
  CHECK(found.statistic < found.limit());
}

TEST_CASE("sampled answers under the model's own drafter are the target's") {
  RealBench bench;
  const std::map<Answer, double> exact = exact_answers(bench);
  for (const double confidence : {0.0, 0.5}) {
    const Sampled sampled = sample_answers(bench, 2, confidence);
    CHECK(sampled.totals.accepted > 0);
    CHECK(sampled.totals.accepted < sampled.totals.offered);
    check(exact, sampled);
  }
}

TEST_CASE("sampled answers under scripted drafts, every other one spoilt, are the target's") {
  RealBench bench;
  const std::map<Answer, double> exact = exact_answers(bench);
  // Drafts continue the first token greedily. They know that token and none of the numbers that
  // will judge them.
  std::string lines;
  std::map<int, std::string> greedy;
  for (int seed = 0; seed < kSeeds; ++seed) {
    bench.request.sampling.seed = static_cast<uint64_t>(seed);
    bench.request.max_new = 1;
    Decoder plain = bench.decoder(0, 0);
    const int first = bench.first_token(plain);
    std::string& line = greedy[first];
    if (line.empty()) line = bench.greedy_line(plain, first);
    lines += line + "\n";
  }
  bench.request.max_new = kTokens;
  bench.oracle = std::make_unique<DraftOracle>(
      std::move(DraftOracle::parse(lines, "o", 2, bench.config().vocab)).value());
  const Sampled sampled = sample_answers(bench, 2, 0);
  CHECK(sampled.totals.accepted * 8 > sampled.totals.offered);
  check(exact, sampled);
}

// Every judged draft is accepted with the stated probability, whatever came before it: their count
// is binomial, and within kZ of its deviations on either side with probability 0.998.
TEST_CASE("sampled answers under drafts that are accepted as often as stated are the target's") {
  RealBench bench;
  const std::map<Answer, double> exact = exact_answers(bench);
  struct Case {
    double accept;
    int depth;
  };
  for (const auto [accept, depth] : {Case{0.5, 1}, Case{0.5, 2}, Case{0.8, 2}}) {
    const Sampled sampled = sample_answers(bench, depth, 0, accept);
    const auto judged = static_cast<double>(sampled.judged);
    const auto accepted = static_cast<double>(sampled.totals.accepted);
    MESSAGE(accept, " asked, ", accepted / judged, " of ", judged, " at depth ", depth);
    CHECK(judged > 1000);
    CHECK(std::abs(accepted - accept * judged) < kZ * std::sqrt(accept * (1 - accept) * judged));
    check(exact, sampled);
  }
}

// What the test would say of a decoder that is wrong: its power, not its luck.
TEST_CASE("the statistic rejects answers from a distribution that is a little off") {
  RealBench bench;
  const std::map<Answer, double> exact = exact_answers(bench);
  RealBench warmer;
  warmer.request.sampling.temperature = 0.5;
  const Sampled sampled = sample_answers(warmer, 0, 0);
  const ChiSquare found = chi_square(exact, sampled.seen);
  CHECK((found.impossible > 0 || found.statistic > found.limit()));
}

}  // namespace
}  // namespace rota
