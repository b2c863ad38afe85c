// What the model counts and how large it says it is, against sums over the tensor table.
#include <doctest/doctest.h>

#include "model/sequence_fixture.h"

namespace rota {
namespace {

// Independent of how the model counts: every target matrix once, one embedding row. Vectors are not
// counted.
TEST_CASE("counters: a decode pass reads every dense matrix of the target once") {
  TestSequence s("mini-xs", {});
  const Config& c = s.config();
  s.pass(std::vector<int>{7}, PassKind::kDecode);
  uint64_t expected = static_cast<uint64_t>(c.dim) * sizeof(float);
  for (const ExpectedTensor& t : target_tensors(c)) {
    if (t.ne[1] > 1 && t.role != Role::kTokenEmbd && t.role != Role::kEngramEmbed &&
        t.role != Role::kEngramQ && t.role != Role::kEngramK) {
      expected += t.ne[0] * t.ne[1] * sizeof(float);
    }
  }
  // The second token of an open pair completes it, and only then the index key's matrix is read:
  // one decode of position 0 touches it in ratio-1 streams alone.
  for (const int layer : c.kv_source) {
    if (c.ratios[static_cast<size_t>(layer)] > 1)
      expected -= static_cast<uint64_t>(c.head_dim * c.index_head_dim) * sizeof(float);
  }
  CHECK(s.model().counters().dense_bytes == expected);
}

TEST_CASE("counters: drafting counts its own bytes and none of the target's") {
  TestSequence s("mini-xs", {});
  const Config& c = s.config();
  s.pass(test_tokens(c, 26, 4), PassKind::kPrefill);
  const uint64_t target = s.model().counters().dense_bytes;
  REQUIRE(s.model().commit_draft_context(4).ok());
  uint64_t context = 0, stages = 0, each = 0;
  for (const ExpectedTensor& t : draft_tensors(c)) {
    const uint64_t bytes = t.ne[0] * t.ne[1] * sizeof(float);
    if (t.role == Role::kDraftFc || t.role == Role::kAttnKv) context += bytes;
    if (t.role == Role::kMarkovHead || t.role == Role::kConfidence) each += bytes;
    if (t.role == Role::kMarkovEmbed) each += t.ne[0] * sizeof(float);
    if (t.layer >= 0 && t.ne[1] > 1) stages += bytes;
  }
  CHECK(s.model().counters().draft_dense_bytes == context);
  DraftOut draft;
  REQUIRE(s.model().draft(1, 3, s.draft_experts(), nullptr, &draft).ok());
  const uint64_t head = static_cast<uint64_t>(c.vocab * c.dim) * sizeof(float);
  const uint64_t embedding = static_cast<uint64_t>(c.draft_block * c.dim) * sizeof(float);
  CHECK(s.model().counters().draft_dense_bytes == context + stages + head + embedding + 3 * each);
  CHECK(s.model().counters().dense_bytes == target);
}

TEST_CASE("sizes: caches grow with the context, weights do not") {
  TestSequence small("mini-xs", {.ctx = 64}), large("mini-xs", {.ctx = 128});
  const Config& c = small.config();
  size_t per_position = 0;  // in floats, doubled: ratios 1 and 2
  for (const int layer : c.kv_source) {
    per_position += static_cast<size_t>(2 / c.ratios[static_cast<size_t>(layer)] *
                                        (c.head_dim + c.index_head_dim));
  }
  CHECK(large.model().kv_bytes() - small.model().kv_bytes() ==
        64 * per_position / 2 * sizeof(float));
  CHECK(large.model().dense_bytes() == small.model().dense_bytes());
  CHECK(small.model().dense_bytes() ==
        test_model("mini-xs").totals().dense + test_model("mini-xs").totals().draft_dense);
  CHECK(small.model().engram_bytes() == test_model("mini-xs").totals().engram);
}

}  // namespace
}  // namespace rota
