// Scores, candidate pool and top-k: ties, short lists, pinned blocks, a stable sort as the judge.
#include "device/host/selection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "device/host/test_values.h"

namespace rota {
namespace {

std::vector<int> selected(const std::vector<float>& scores, const std::vector<uint8_t>& keep,
                          int block_size, int top_k) {
  std::vector<int> order(scores.size()), list(static_cast<size_t>(top_k));
  const int n = select_groups_row(scores.data(), static_cast<int>(scores.size()),
                                  keep.empty() ? nullptr : keep.data(), block_size, top_k,
                                  order.data(), list.data());
  list.resize(static_cast<size_t>(n));
  return list;
}

std::vector<uint8_t> pool(const std::vector<float>& scores, int block_size, int blocks) {
  const size_t count =
      (scores.size() + static_cast<size_t>(block_size) - 1) / static_cast<size_t>(block_size);
  std::vector<uint8_t> keep(count, 7);
  std::vector<float> maxima(count);
  std::vector<int> order(count);
  candidate_pool_row(scores.data(), static_cast<int>(scores.size()), block_size, blocks,
                     keep.data(), maxima.data(), order.data());
  return keep;
}

TEST_CASE("the best groups, ascending") {
  CHECK(selected({5, 1, 9, 7, 3}, {}, 1, 3) == std::vector<int>{0, 2, 3});
}

TEST_CASE("ties go to the lowest index: many scores are exactly zero") {
  CHECK(selected({0, 0, 0, 0, 0, 1}, {}, 1, 3) == std::vector<int>{0, 1, 5});
  CHECK(selected({-1, 0, 0, -1, 0}, {}, 1, 2) == std::vector<int>{1, 2});
}

TEST_CASE("fewer groups than asked are all taken") {
  CHECK(selected({3, -2}, {}, 1, 8) == std::vector<int>{0, 1});
  CHECK(selected({}, {}, 1, 8).empty());
}

TEST_CASE("only the pool's blocks are eligible, even where they hold fewer than top-k groups") {
  CHECK(selected({9, 9, 1, 2, 9, 9, 3}, {0, 1, 0, 1}, 2, 2) == std::vector<int>{3, 6});
  CHECK(selected({9, 9, 1, 2, 9}, {0, 1, 0}, 2, 4) == std::vector<int>{2, 3});
}

TEST_CASE("a pool keeps the best blocks by their maximum and always the newest") {
  CHECK(pool({0, 9, 1, 1, 8, 0, 2, 2, -5}, 2, 3) == std::vector<uint8_t>{1, 0, 1, 0, 1});
  CHECK(pool({0, 9, 8, 0}, 2, 1) == std::vector<uint8_t>{0, 1});
}

TEST_CASE("equal blocks: the lowest index is kept") {
  CHECK(pool({0, 0, 0, 0, 0}, 1, 3) == std::vector<uint8_t>{1, 1, 0, 0, 1});
}

TEST_CASE("a pool larger than the row keeps every block") {
  CHECK(pool({1, 2, 3}, 2, 5) == std::vector<uint8_t>{1, 1});
}

TEST_CASE("selection equals a stable full sort, for scores full of ties") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<float> scores = test_values(seed, 1 + seed * 3);
    for (float& s : scores) s = s < 0 ? 0.f : static_cast<float>(static_cast<int>(s * 4));
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    order.resize(std::min<size_t>(order.size(), 10));
    std::sort(order.begin(), order.end());
    REQUIRE(selected(scores, {}, 1, 10) == order);
  }
}

TEST_CASE(
    "scores: relu of each head's product, weighed and summed; a row sees complete groups only") {
  const std::vector<float> q = {1, 0, 0, -2}, keys = {3, 1, -1, 5, 2, -4}, weights = {0.5f, 2};
  std::vector<float> scores(3, -7);
  IndexArgs args;
  args.rows = 1;
  args.heads = 2;
  args.head_dim = 2;
  args.q = DevPtr<const float>(q.data());
  args.keys = float_rows(keys, 2);
  args.weights = DevPtr<const float>(weights.data());
  args.scores = DevPtr<float>(scores.data());
  args.score_stride = 3;
  args.ratio = 2;
  args.first_position = 3;
  CHECK(visible_groups(args, 0) == 2);
  CHECK(visible_groups(args, 1) == 2);
  CHECK(visible_groups(args, 2) == 3);
  index_scores_row(args, 0, 0, 2, nullptr);
  CHECK(scores == std::vector<float>{1.5f, 0, -7});
  index_scores_row(args, 0, 2, 3, nullptr);
  CHECK(scores[2] == 1 + 16);
}

}  // namespace
}  // namespace rota
