// A prompt pass may run a layer's experts in steps, and a pass may leave the head alone: neither
// changes a bit of what is computed.
#include <doctest/doctest.h>

#include <algorithm>

#include "model/sequence_fixture.h"

namespace rota {
namespace {

// Remembers how many rows each call had.
class SeenExperts : public RoutedExperts {
 public:
  explicit SeenExperts(RoutedExperts& inner) : inner_(inner) {}
  void begin_pass(PassKind kind, int rows) override { inner_.begin_pass(kind, rows); }
  const float* selection_bias(int layer) override { return inner_.selection_bias(layer); }
  void hint(int, int, int, const int*) override {}
  Status run(int layer, int rows, int top_k, const int* ids, const float* weights, const float* x,
             float* y) override {
    if (layer == 0) calls.push_back(rows);
    return inner_.run(layer, rows, top_k, ids, weights, x, y);
  }
  std::vector<int> calls;

 private:
  RoutedExperts& inner_;
};

struct Run {
  std::vector<float> logits;  // of the verify pass after the prompt
  std::vector<int> calls;
  ModelCounters counters;
};

Run run(int expert_step, int first_logit_row, bool act_quant = false) {
  TestSequence s("mini-xs", {.max_rows = 20, .act_quant = act_quant, .expert_step = expert_step});
  SeenExperts experts(s.experts());
  const std::vector<int> tokens = test_tokens(s.config(), 50, 26);
  REQUIRE(s.model()
              .forward(std::span(tokens).first(20), PassKind::kPrefill, experts, first_logit_row)
              .ok());
  REQUIRE(s.model().commit_draft_context(20).ok());
  Run out{{}, {}, s.model().counters()};
  REQUIRE(s.model().forward(std::span(tokens).subspan(20), PassKind::kVerify, experts, 0).ok());
  for (int row = 0; row < 6; ++row) {
    const float* logits = s.model().logits(row);
    out.logits.insert(out.logits.end(), logits, logits + s.config().vocab);
  }
  out.calls = experts.calls;
  return out;
}

TEST_CASE("experts run in steps in a prompt pass only, and the bits stay") {
  const Run whole = run(0, 19);
  CHECK(whole.calls == std::vector<int>{20, 6});
  for (const int step : {1, 7, 20, 1000}) {
    CAPTURE(step);
    const Run steps = run(step, 19);
    CHECK(same_bits(steps.logits, whole.logits));
    CHECK(steps.calls.back() == 6);
    CHECK(static_cast<int>(steps.calls.size()) == 1 + (20 + step - 1) / step);
    CHECK(*std::max_element(steps.calls.begin(), steps.calls.end() - 1) == std::min(step, 20));
  }
  CHECK(same_bits(run(3, 19, true).logits, run(0, 19, true).logits));
}

TEST_CASE("a pass whose logits nobody wants computes no head row and reads no head") {
  const Run one = run(0, 19), none = run(0, 20), all = run(0, 0);
  CHECK(one.counters.head_rows == 1);
  CHECK(none.counters.head_rows == 0);
  CHECK(all.counters.head_rows == 20);
  const Config& c = test_model("mini-xs").config();
  CHECK(one.counters.dense_bytes - none.counters.dense_bytes ==
        static_cast<uint64_t>(c.vocab * c.dim) * sizeof(float));
  CHECK(same_bits(none.logits, one.logits));
}

}  // namespace
}  // namespace rota
