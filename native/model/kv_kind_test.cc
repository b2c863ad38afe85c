// How caches hold keys: packed is bit for bit fp32 with the rounding on, in passes of every size,
// rollbacks and drafts; fp16 rounds; and each takes its bytes.
#include <doctest/doctest.h>

#include "model/sequence_fixture.h"

namespace rota {
namespace {

// Prompt in chunks, drafts, a verify pass, a rollback into it, another pass: every logit on the
// way.
std::vector<float> story(TestSequence& sequence, int chunk) {
  const std::vector<int> tokens = test_tokens(sequence.config(), 40, 60);
  Model& model = sequence.model();
  std::vector<float> all = sequence.run(std::span(tokens).first(50), chunk);
  const auto add = [&all](const std::vector<float>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (int round = 0; round < 2; ++round) {
    DraftOut draft;
    REQUIRE(model.draft(tokens[50], 5, sequence.draft_experts(), nullptr, &draft).ok());
    const float* logits = model.draft_logits(5);
    all.insert(all.end(), logits, logits + 5 * sequence.config().vocab);
    all.insert(all.end(), draft.conf, draft.conf + 5);
    const int position = model.position();
    add(sequence.pass(std::span(tokens).subspan(50, 6), PassKind::kVerify));
    REQUIRE(model.truncate(position + 3).ok());
    REQUIRE(model.commit_draft_context(3).ok());
    add(sequence.pass(std::span(tokens).subspan(56, 1), PassKind::kDecode));
    REQUIRE(model.commit_draft_context(1).ok());
  }
  return all;
}

std::vector<float> story_of(KvKind kv, bool kv_quant, int chunk, int threads) {
  TestSequence sequence("mini-xs",
                        {.threads = threads, .max_rows = 50, .kv_quant = kv_quant, .kv = kv});
  return story(sequence, chunk);
}

TEST_CASE("packed caches give the bits of fp32 caches") {
  const std::vector<float> floats = story_of(KvKind::kF32, true, 50, 0);
  for (const int chunk : {1, 7, 50}) {
    for (const int threads : {0, 3}) {
      CAPTURE(chunk);
      CHECK(same_bits(story_of(KvKind::kPacked, true, chunk, threads), floats));
    }
  }
  CHECK(!same_bits(story_of(KvKind::kF32, false, 50, 0), floats));
}

TEST_CASE("fp16 caches round what the model does not: near, not equal, and by the row alone") {
  const std::vector<float> exact = story_of(KvKind::kF32, false, 50, 0);
  const std::vector<float> half = story_of(KvKind::kF16, false, 50, 0);
  CHECK(!same_bits(half, exact));
  CHECK(same_bits(story_of(KvKind::kF16, false, 7, 3), half));
  // A prompt's first row sees itself alone: fp16's 2^-11 moves its logits by a little.
  float largest = 0;
  for (size_t i = 0; i < 128; ++i) largest = std::max(largest, std::abs(half[i] - exact[i]));
  CHECK(largest > 0);
  CHECK(largest < 0.02f);
}

TEST_CASE("packed caches need the rounding that they hold") {
  const auto device = make_host_device(nullptr);
  ModelOptions options;
  options.kv = KvKind::kPacked;
  options.kv_quant = false;
  const Status status = Model::load(test_model("mini-xs"), *device, options).status();
  CHECK(status.code() == Code::kUsage);
  CHECK(status.message().find("packed caches hold the codes") == 0);
}

TEST_CASE("the kind of the caches says what a position costs") {
  const Config& c = test_model("mini-xs").config();
  const auto grow = [&c](KvKind kv) {
    ModelOptions options;
    options.kv = kv;
    options.ctx = 1000;
    const uint64_t base = model_bytes(c, options).kv;
    options.ctx = 2000;
    return model_bytes(c, options).kv - base;
  };
  // 2000 groups more in three streams of head_dim 64 and index_head_dim 32.
  CHECK(grow(KvKind::kF32) == 2000 * (64 + 32) * 4);
  CHECK(grow(KvKind::kF16) == 2000 * (64 + 32) * 2);
  CHECK(grow(KvKind::kPacked) == 2000 * (32 + 4 + 16 + 1));
  for (const KvKind kv : {KvKind::kF16, KvKind::kPacked}) {
    TestSequence sequence("mini-xs", {.kv = kv});
    CHECK(sequence.model().kv_bytes() == model_bytes(c, sequence.model().options()).kv);
  }
}

}  // namespace
}  // namespace rota
