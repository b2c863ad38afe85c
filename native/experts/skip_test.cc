// Dropped lookups: which, with which weights, and what the tiers count and compute then.
#include "experts/skip.h"

#include "experts/tiered_bench.h"

namespace rota {
namespace {

// One layer of six experts of 100 bytes: 0, 1 in slots, 2, 3 in the arena, 4, 5 in the file.
Placement thirds() {
  PlacementOptions options;
  options.slots_bytes = options.arena_bytes = 200;
  return Placement(1, 6, std::vector<uint64_t>(6, 100), index_ranking(1, 6), options);
}

std::vector<uint8_t> judge(const SkipOptions& options, const std::vector<int>& ids,
                           const std::vector<float>& weights, std::vector<float>* left = nullptr) {
  Skipper skipper(options, 4, 3);
  skipper.judge(thirds(), 0, static_cast<int>(ids.size()) / 3, 3, ids.data(), weights.data());
  if (left != nullptr) left->assign(skipper.weights(), skipper.weights() + weights.size());
  const auto dropped = skipper.dropped();
  CHECK(skipper.count() == std::count(dropped.begin(), dropped.end(), 1));
  return {dropped.begin(), dropped.end()};
}

SkipOptions skip(float miss, float file, bool renorm = false) { return {miss, file, renorm}; }

TEST_CASE("thresholds are shares of the row's sum, by tier, and the larger holds for the file") {
  using Marks = std::vector<uint8_t>;
  const std::vector<float> even = {1, 1, 1}, light = {0.2f, 0.8f, 1};
  CHECK(judge(skip(0.5f, 0), {0, 2, 4}, even) == Marks{0, 1, 1});
  CHECK(judge(skip(0, 0.5f), {0, 2, 4}, even) == Marks{0, 0, 1});
  CHECK(judge(skip(0.5f, 0.1f), {0, 2, 4}, even) == Marks{0, 1, 1});
  CHECK(judge(skip(0.1f, 0.5f), {1, 3, 5}, even) == Marks{0, 0, 1});
  CHECK(judge(skip(0.11f, 0), {2, 3, 4}, light) == Marks{1, 0, 0});
  CHECK(judge(skip(0.09f, 0), {2, 3, 4}, light) == Marks{0, 0, 0});
  CHECK(judge(skip(0.5f, 0.5f), {0, 1, 0}, {0.01f, 0.01f, 1}) == Marks{0, 0, 0});   // held
  CHECK(judge(skip(0.25f, 0), {2, 3, 4}, {0.25f, 0.25f, 0.5f}) == Marks{0, 0, 0});  // not below
}

TEST_CASE("a row is judged by itself") {
  // The heavy row first: its sum would drop all of the light one.
  const std::vector<int> ids = {5, 2, 0, 2, 3, 4};
  const std::vector<float> weights = {3, 2, 5, 0.1f, 0.4f, 0.5f};
  const auto both = judge(skip(0.25f, 0), ids, weights);
  auto first = judge(skip(0.25f, 0), {5, 2, 0}, {3, 2, 5});
  const auto second = judge(skip(0.25f, 0), {2, 3, 4}, {0.1f, 0.4f, 0.5f});
  first.insert(first.end(), second.begin(), second.end());
  CHECK(both == first);
  CHECK(both == std::vector<uint8_t>{0, 1, 0, 1, 0, 0});
}

TEST_CASE("what stays keeps its weight, or is scaled to the row's sum") {
  std::vector<float> left;
  judge(skip(0.25f, 0), {2, 0, 1}, {1, 3, 4}, &left);
  CHECK(left == std::vector<float>{1, 3, 4});
  judge(skip(0.25f, 0, true), {2, 0, 1}, {1, 3, 4}, &left);
  CHECK(left[1] + left[2] == doctest::Approx(8));
  CHECK(left[1] / left[2] == doctest::Approx(0.75));
  judge(skip(0.25f, 0, true), {0, 1, 0}, {1, 3, 4}, &left);
  CHECK(left == std::vector<float>{1, 3, 4});
  judge(skip(1, 0, true), {2, 3, 4}, {1, 3, 4}, &left);  // all dropped
  CHECK(left == std::vector<float>{1, 3, 4});
}

// One row of three experts with these weights.
std::vector<float> one_row(TieredExperts& tiers, std::vector<int> ids, std::vector<float> weights,
                           PassKind kind, ExpertTally* tally = nullptr) {
  const FakeCall call(1, kTopK, kExperts, kDim, 5);
  std::vector<float> y(kDim);
  tiers.begin_pass(kind, 1);
  REQUIRE(tiers.run(0, 1, kTopK, ids.data(), weights.data(), call.x.data(), y.data()).ok());
  const ExpertTally counted = tiers.take_tally();
  if (tally != nullptr) *tally = counted;
  return y;
}

TEST_CASE("a skipped lookup is counted, moves no byte, and adds nothing to its row") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  TieredOptions options = quarters(blobs);  // layer 0: 0..2 in slots, 3..5 in the arena
  options.skip.miss = 0.3f;
  const auto tiers = load(blobs, options), plain = load(blobs, quarters(blobs));
  ExpertTally tally;
  const auto y = one_row(*tiers, {0, 3, 11}, {1, 0.2f, 0.3f}, PassKind::kDecode, &tally);
  CHECK(tally.lookups == 3);
  CHECK(tally.skipped == 2);
  CHECK(all_sources(tally.source) == 1);
  CHECK(tally.source[Source::kHit] == 1);
  CHECK(tally.bytes[Source::kCpu] + tally.bytes[Source::kFile] == 0);
  CHECK(y == one_row(*plain, {0, 1, 2}, {1, 0, 0}, PassKind::kDecode));
  // What is skipped again and again never enters a slot.
  one_row(*tiers, {0, 3, 11}, {1, 0.2f, 0.3f}, PassKind::kDecode, &tally);
  CHECK(tally.admitted == 0);
  SUBCASE("all of a row") {
    const auto nothing = one_row(*tiers, {3, 4, 11}, {0.3f, 0.3f, 0.3f}, PassKind::kDecode, &tally);
    CHECK(tally.skipped == 0);  // a third each: above 0.3
    CHECK(nothing != std::vector<float>(kDim, 0.0f));
    TieredOptions all = options;
    all.skip.miss = 0.5f;
    const auto empty = one_row(*load(blobs, all), {3, 4, 11}, {1, 1, 1}, PassKind::kDecode, &tally);
    CHECK(tally.skipped == 3);
    CHECK(empty == std::vector<float>(kDim, 0.0f));
  }
  SUBCASE("with the rest scaled to the row's sum") {
    TieredOptions scaled = options;
    scaled.skip.renorm = true;
    CHECK(one_row(*load(blobs, scaled), {0, 3, 11}, {1, 0.2f, 0.3f}, PassKind::kDecode) ==
          one_row(*plain, {0, 1, 2}, {1.5f, 0, 0}, PassKind::kDecode));
  }
  SUBCASE("never on prompt rows") {
    one_row(*tiers, {0, 3, 11}, {1, 0.2f, 0.3f}, PassKind::kPrefill, &tally);
    CHECK(tally.skipped == 0);
    CHECK(tally.source[Source::kFile] == 1);
  }
}

TEST_CASE("the books balance with skips in every pass, and reset brings the same ones back") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions options = quarters(blobs);
  options.skip.file = 0.4f;  // weights are a third each
  options.placement.batch_pcie = 0.3;
  const auto tiers = load(blobs, options);
  const Trace first = play(*tiers, 10, 4);
  for (const ExpertTally& pass : first.passes) {
    check_identities(blobs, pass, 4);
    CHECK(pass.source[Source::kFile] == 0);
  }
  CHECK(total(first).skipped > 0);
  REQUIRE(tiers->reset().ok());
  const Trace second = play(*tiers, 10, 4);
  CHECK(second.y == first.y);
  check_same_counts(total(second), total(first));
  CHECK(total(second).skipped == total(first).skipped);
}

}  // namespace
}  // namespace rota
