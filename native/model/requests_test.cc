// What a sequence refuses, what it asks of a placement, and what it counts.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "model/sequence_fixture.h"

namespace rota {
namespace {

// Wraps the resident experts and remembers what it was asked.
class RecordingExperts final : public RoutedExperts {
 public:
  explicit RecordingExperts(RoutedExperts& inner) : inner_(inner) {}
  void begin_pass(PassKind kind, int rows) override {
    passes.push_back({kind, rows});
    inner_.begin_pass(kind, rows);
  }
  const float* selection_bias(int) override { return bias.empty() ? nullptr : bias.data(); }
  bool wants_hints(int) const override { return hints_wanted; }
  void hint(int layer, int rows, int top_k, const int* ids) override {
    hints.push_back({layer, std::vector<int>(ids, ids + rows * top_k)});
  }
  Status run(int layer, int rows, int top_k, const int* ids, const float* weights, const float* x,
             float* y) override {
    if (layer == failing_layer) return {Code::kIo, "layer lost"};
    runs.push_back({layer, std::vector<int>(ids, ids + rows * top_k)});
    last_weights.assign(weights, weights + rows * top_k);
    return inner_.run(layer, rows, top_k, ids, weights, x, y);
  }

  struct Asked {
    int layer;
    std::vector<int> ids;
  };
  std::vector<std::pair<PassKind, int>> passes;
  std::vector<Asked> runs, hints;
  std::vector<float> bias, last_weights;
  bool hints_wanted = false;
  int failing_layer = -1;

 private:
  RoutedExperts& inner_;
};

std::string refused(const Status& status) {
  CHECK(status.code() == Code::kBadRequest);
  return status.message();
}

TEST_CASE("requests that cannot be served say why, with numbers") {
  TestSequence s("mini-xs", {.max_rows = 8, .ctx = 10});
  Model& model = s.model();
  const auto forward = [&](std::vector<int> tokens, int first_row) {
    return model.forward(tokens, PassKind::kPrefill, s.experts(), first_row);
  };
  CHECK(refused(forward({}, 0)) == "a pass of 0 rows: it must have 1..8");
  CHECK(refused(forward(std::vector<int>(9, 1), 0)) == "a pass of 9 rows: it must have 1..8");
  CHECK(refused(forward({5, 128}, 0)) == "token 128 is outside the vocabulary of 128");
  CHECK(refused(forward({-1}, 0)) == "token -1 is outside the vocabulary of 128");
  CHECK(refused(forward({1, 2}, 3)) ==
        "logits of rows 3..1: at most the last 8 rows of a pass have them");
  REQUIRE(forward(std::vector<int>(7, 1), 0).ok());
  CHECK(refused(forward(std::vector<int>(4, 1), 0)) ==
        "context full: 7 positions held and 4 more asked, of 10");
  CHECK(model.position() == 7);
  CHECK(refused(model.truncate(8)) == "cannot go back to position 8 of 7");
  CHECK(refused(model.truncate(-1)) == "cannot go back to position -1 of 7");
}

TEST_CASE("drafting refuses a context that does not stand where the sequence stands") {
  TestSequence s("mini-xs", {});
  Model& model = s.model();
  DraftOut out;
  const auto draft = [&](int token, int depth) {
    return model.draft(token, depth, s.draft_experts(), nullptr, &out);
  };
  s.pass(std::vector<int>{1, 2, 3}, PassKind::kPrefill);
  CHECK(refused(draft(4, 5)) == "draft context stands at 0, the sequence at 3");
  CHECK(refused(model.commit_draft_context(4)) ==
        "draft context stands at 0; the last pass offers 3 rows from position 0, not 4");
  REQUIRE(model.commit_draft_context(3).ok());
  CHECK(refused(model.commit_draft_context(1)) ==
        "draft context stands at 3; the last pass offers 3 rows from position 0, not 1");
  CHECK(refused(draft(128, 5)) == "token 128 is outside the vocabulary of 128");
  CHECK(refused(draft(4, 0)) == "draft depth 0 is outside 1..5");
  CHECK(refused(draft(4, 6)) == "draft depth 6 is outside 1..5");
  CHECK(draft(4, 5).ok());
  s.pass(std::vector<int>{4, 5}, PassKind::kVerify);
  REQUIRE(model.truncate(4).ok());
  CHECK(refused(model.commit_draft_context(2)) ==
        "draft context stands at 3; the last pass offers 1 rows from position 3, not 2");
  CHECK(model.commit_draft_context(1).ok());
}

TEST_CASE("options that make no model are usage errors") {
  const std::unique_ptr<Device> device = make_host_device(nullptr);
  const auto load = [&](ModelOptions options) {
    return Model::load(test_model("mini-xs"), *device, options).status();
  };
  CHECK(load({.ctx = 0}).message() == "context of 0 positions: it must be at least 1");
  CHECK(load({.max_rows = 0}).code() == Code::kUsage);
  CHECK(load({.max_logit_rows = 0}).code() == Code::kUsage);
  CHECK(load({.expert_step = -1}).code() == Code::kUsage);
}

// A sanitizer's shadow memory alone exceeds any limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Under a limit on address space, so that no machine, however generous, hands the memory out and
// regrets it later.
TEST_CASE("a context that no memory can hold is an out-of-memory error that names it" *
          doctest::skip(kSanitized)) {
  WeightSource& source = test_model("mini-xs");
  const std::unique_ptr<Device> device = make_host_device(nullptr);
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit tight{size_t{64} << 30, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
  const Status status = Model::load(source, *device, {.ctx = 2147483647}).status();
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(status.code() == Code::kOutOfMemory);
  CHECK(status.message() == "compressed cache: cannot allocate 274877906688 bytes of memory");
}

TEST_CASE("a placement's failure leaves the sequence where it was") {
  const std::vector<int> tokens = test_tokens(test_model("mini-xs").config(), 20, 30);
  TestSequence s("mini-xs", {}), fresh("mini-xs", {});
  s.run(std::span(tokens).first(15), 15);
  RecordingExperts failing(s.experts());
  failing.failing_layer = 6;
  const Status status =
      s.model().forward(std::span(tokens).subspan(3, 9), PassKind::kDecode, failing, 0);
  CHECK(status.code() == Code::kIo);
  CHECK(s.model().position() == 15);
  fresh.run(std::span(tokens).first(15), 15);
  const std::span<const int> rest = std::span(tokens).subspan(15);
  CHECK(same_bits(s.run(rest, 4), fresh.run(rest, 15)));
}

TEST_CASE("a placement hears of each pass once and of every layer in order") {
  TestSequence s("mini-xs", {});
  RecordingExperts recording(s.experts());
  const Config& c = s.config();
  REQUIRE(s.model().forward(test_tokens(c, 21, 6), PassKind::kVerify, recording, 0).ok());
  CHECK(recording.passes == std::vector<std::pair<PassKind, int>>{{PassKind::kVerify, 6}});
  REQUIRE(recording.runs.size() == static_cast<size_t>(c.layers));
  for (int layer = 0; layer < c.layers; ++layer) {
    const auto& run = recording.runs[static_cast<size_t>(layer)];
    CHECK(run.layer == layer);
    REQUIRE(run.ids.size() == static_cast<size_t>(6 * c.top_k));
    for (int r = 0; r < 6; ++r) {
      const auto row = run.ids.begin() + r * c.top_k;
      CHECK(std::set<int>(row, row + c.top_k).size() == static_cast<size_t>(c.top_k));
    }
  }
  CHECK(recording.hints.empty());
}

TEST_CASE(
    "guesses are made for layers 1 .. last where wanted, are mostly right, and change no bit") {
  const std::vector<int> tokens = test_tokens(test_model("mini-xs").config(), 22, 40);
  TestSequence quiet("mini-xs", {}), hinted("mini-xs", {});
  RecordingExperts recording(hinted.experts());
  recording.hints_wanted = true;
  const std::vector<float> expected = quiet.pass(tokens, PassKind::kPrefill);
  REQUIRE(hinted.model().forward(tokens, PassKind::kPrefill, recording, 0).ok());
  CHECK(std::equal(expected.begin(), expected.end(), hinted.model().logits(0)));
  const Config& c = hinted.config();
  REQUIRE(recording.hints.size() == static_cast<size_t>(c.layers - 1));
  int right = 0, all = 0;
  for (int layer = 1; layer < c.layers; ++layer) {
    const auto& hint = recording.hints[static_cast<size_t>(layer - 1)];
    CHECK(hint.layer == layer);
    const std::vector<int>& truth = recording.runs[static_cast<size_t>(layer)].ids;
    REQUIRE(hint.ids.size() == truth.size());
    for (size_t i = 0; i < truth.size(); ++i) {
      const auto row = truth.begin() + static_cast<std::ptrdiff_t>(i) / c.top_k * c.top_k;
      right += std::find(row, row + c.top_k, hint.ids[i]) != row + c.top_k;
      ++all;
    }
  }
  // Chance would be top_k of experts, a quarter here.
  CHECK(right * c.experts > all * c.top_k * 5 / 4);
}

TEST_CASE("a selection bias steers the choice and never the weights") {
  TestSequence s("mini-xs", {});
  RecordingExperts recording(s.experts());
  const Config& c = s.config();
  recording.bias.assign(static_cast<size_t>(c.experts), 0.f);
  recording.bias[3] = 50.f;
  recording.bias[6] = 40.f;
  REQUIRE(s.model().forward(test_tokens(c, 23, 5), PassKind::kPrefill, recording, 0).ok());
  for (const auto& run : recording.runs) {
    for (size_t i = 0; i < run.ids.size(); i += 2) {
      CHECK(run.ids[i] == 3);
      CHECK(run.ids[i + 1] == 6);
    }
  }
  for (size_t i = 0; i < recording.last_weights.size(); i += 2) {
    CHECK(recording.last_weights[i] + recording.last_weights[i + 1] ==
          doctest::Approx(c.route_scale));
    CHECK(recording.last_weights[i] <
          0.95f * c.route_scale);  // a biased score of 50 would leave 3 % to the other
  }
}

TEST_CASE(
    "counters: engram rows per position, layer and column; dense weights once a pass, whatever its "
    "rows") {
  TestSequence s("mini-xs", {});
  const Config& c = s.config();
  s.pass(test_tokens(c, 24, 11), PassKind::kPrefill);
  const ModelCounters many = s.model().counters();
  const uint64_t rows = 11 * c.engram_layers.size() * static_cast<size_t>(c.engram_columns());
  CHECK(many.engram_rows == rows);
  CHECK(many.engram_bytes == rows * static_cast<uint64_t>(c.engram_head_dim) * sizeof(float));
  CHECK(many.draft_dense_bytes == 0);
  s.pass(test_tokens(c, 25, 1), PassKind::kDecode);
  const ModelCounters one = s.model().counters();
  const uint64_t embedding_row = static_cast<uint64_t>(c.dim) * sizeof(float);
  CHECK(one.dense_bytes - many.dense_bytes == many.dense_bytes - 10 * embedding_row);
}

TEST_CASE("a picker chooses the drafts and the Markov term follows its choice") {
  class Third final : public DraftPicker {
   public:
    int pick(int index, const float* logits, int vocab) override {
      REQUIRE(logits[vocab - 1] == logits[vocab - 1]);
      return 3 + index;
    }
  } third;
  TestSequence s("mini-xs", {});
  s.run(test_tokens(s.config(), 27, 9), 9);
  DraftOut greedy, picked;
  REQUIRE(s.model().draft(1, 3, s.draft_experts(), nullptr, &greedy).ok());
  const size_t vocab = static_cast<size_t>(s.config().vocab);
  const float* greedily = s.model().draft_logits(2);
  const std::vector<float> first(greedily, greedily + vocab),
      second(greedily + vocab, greedily + 2 * vocab);
  REQUIRE(greedy.ids[0] != 3);
  REQUIRE(s.model().draft(1, 3, s.draft_experts(), &third, &picked).ok());
  CHECK(std::vector<int>(picked.ids, picked.ids + 3) == std::vector<int>{3, 4, 5});
  const float* chosen = s.model().draft_logits(2);
  CHECK(std::equal(first.begin(), first.end(), chosen));
  CHECK_FALSE(std::equal(second.begin(), second.end(), chosen + vocab));
}

}  // namespace
}  // namespace rota
