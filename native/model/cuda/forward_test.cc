// The whole model on the GPU: the host's logits, and the same bits however rows are cut into
// passes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "base/temp_dir.h"
#include "device/cuda/cuda_device.h"
#include "model/sequence_fixture.h"
#include "model/synthetic_model.h"

namespace rota {
namespace {

constexpr const char* kModels[] = {"mini-xs", "mini-xs2"};
// The goldens': of logits with a standard deviation of 1.
constexpr double kTolerance = 1e-4;

Device* gpu() {
  static const std::unique_ptr<Device> device = [] {
    auto made = make_cuda_device(0);
    REQUIRE_MESSAGE(made.ok(), made.status().message());
    return std::move(made).value();
  }();
  return device.get();
}

void check_close(const std::string& what, const std::vector<float>& got,
                 const std::vector<float>& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  double square = 0, worst = 0;
  for (const float e : expected) square += static_cast<double>(e) * e;
  const double deviation = std::sqrt(square / static_cast<double>(expected.size()));
  for (size_t i = 0; i < got.size(); ++i) {
    const double off = std::fabs(static_cast<double>(got[i]) - expected[i]) / deviation;
    worst = std::isnan(got[i]) ? INFINITY : std::max(worst, off);
  }
  std::printf("  %-44s off by %.2e of %.2e allowed\n", what.c_str(), worst, tolerance);
  CHECK_MESSAGE(worst < tolerance, what, ": off by ", worst);
}

TEST_CASE(
    "without roundings the logits are the host's, in one pass, in chunks and token by token") {
  for (const char* name : kModels) {
    const std::vector<int> tokens = test_tokens(test_model(name).config(), 3, 90);
    TestSequence host(name, {.kv_quant = false});
    const std::vector<float> expected = host.run(tokens, 90);
    for (const int chunk : {90, 16, 1}) {
      TestSequence sequence(name, {.kv_quant = false, .device = gpu()});
      check_close(std::string(name) + " in chunks of " + std::to_string(chunk),
                  sequence.run(tokens, chunk), expected, kTolerance);
    }
  }
}

TEST_CASE("prefill, chunks of any size and decode give the same bits, and the same again") {
  for (const char* name : kModels) {
    for (const KvKind kv : {KvKind::kF32, KvKind::kPacked}) {
      const TestOptions options{.kv = kv, .device = gpu()};
      const std::vector<int> tokens = test_tokens(test_model(name).config(), 4, 90);
      const std::vector<float> whole = TestSequence(name, options).run(tokens, 90);
      for (const int chunk : {90, 1, 2, 3, 4, 5, 6, 7, 9, 16, 33}) {
        CAPTURE(name);
        CAPTURE(chunk);
        REQUIRE(same_bits(TestSequence(name, options).run(tokens, chunk), whole));
      }
    }
  }
}

TEST_CASE("packed caches change no bit, and act-quant is the same in any chunk") {
  for (const char* name : kModels) {
    const std::vector<int> tokens = test_tokens(test_model(name).config(), 5, 60);
    const auto logits = [&](TestOptions options, int chunk) {
      options.device = gpu();
      return TestSequence(name, options).run(tokens, chunk);
    };
    CHECK(same_bits(logits({.kv = KvKind::kPacked}, 20), logits({}, 20)));
    CHECK(same_bits(logits({.act_quant = true}, 60), logits({.act_quant = true}, 6)));
  }
}

TEST_CASE("drafts are the host's: tokens, logits and confidences") {
  for (const char* name : kModels) {
    const std::vector<int> tokens = test_tokens(test_model(name).config(), 6, 40);
    TestSequence host(name, {.kv_quant = false}),
        sequence(name, {.kv_quant = false, .device = gpu()});
    host.run(tokens, 7);
    sequence.run(tokens, 7);
    const int depth = host.config().draft_block, vocab = host.config().vocab;
    DraftOut a, b;
    REQUIRE(host.model().draft(tokens[0], depth, host.draft_experts(), nullptr, &a).ok());
    REQUIRE(sequence.model().draft(tokens[0], depth, sequence.draft_experts(), nullptr, &b).ok());
    CHECK(std::vector<int>(a.ids, a.ids + depth) == std::vector<int>(b.ids, b.ids + depth));
    const float *ours = sequence.model().draft_logits(depth),
                *theirs = host.model().draft_logits(depth);
    check_close(std::string(name) + " draft logits", {ours, ours + depth * vocab},
                {theirs, theirs + depth * vocab}, kTolerance);
    check_close(std::string(name) + " draft confidences", {b.conf, b.conf + depth},
                {a.conf, a.conf + depth}, kTolerance);
  }
}

TEST_CASE("after a partial accept the sequence is one that never saw the rejected rows") {
  const char* name = "mini-xs";
  const std::vector<int> tokens = test_tokens(test_model(name).config(), 7, 60);
  const std::span<const int> all(tokens);
  for (const int accepted : {0, 2, 5}) {
    const TestOptions options{.device = gpu()};
    TestSequence rolled(name, options), fresh(name, options);
    rolled.run(all.first(43), 43);
    std::vector<int> rows(tokens.begin() + 43, tokens.begin() + 49);
    for (size_t i = static_cast<size_t>(accepted) + 1; i < rows.size(); ++i) rows[i] = 1;
    rolled.pass(rows, PassKind::kVerify);
    REQUIRE(rolled.model().truncate(44 + accepted).ok());
    fresh.run(all.first(static_cast<size_t>(44 + accepted)), 4);
    const std::span<const int> rest = all.subspan(static_cast<size_t>(44 + accepted), 8);
    CHECK(same_bits(rolled.pass(rest, PassKind::kVerify), fresh.pass(rest, PassKind::kVerify)));
  }
}

TEST_CASE(
    "Q8_0 and BF16 in the layouts of the GPU: the host's logits, the same bits in any chunk") {
  const TempDir folder;
  for (const Format format : {Format::kQ8_0, Format::kBF16}) {
    SyntheticOptions synthetic;
    synthetic.config = "mini-s";
    synthetic.expert_format = Format::kQ8_0;
    synthetic.dense_format = format;
    const std::string path = folder / (std::string(format_info(format).name) + ".gguf");
    REQUIRE(write_synthetic_model(synthetic, path).ok());
    auto source = WeightSource::open(path);
    REQUIRE(source.ok());
    const std::vector<int> tokens = test_tokens((*source)->config(), 8, 48);
    const auto logits = [&](Device* device, int chunk) {
      return TestSequence(**source, {.kv_quant = false, .device = device}).run(tokens, chunk);
    };
    const std::vector<float> whole = logits(gpu(), 48);
    check_close(std::string("mini-s of ") + format_info(format).name, whole, logits(nullptr, 48),
                kTolerance);
    CHECK(same_bits(logits(gpu(), 5), whole));
  }
}

}  // namespace
}  // namespace rota
