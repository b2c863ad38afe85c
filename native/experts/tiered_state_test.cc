// What the tiers remember and how they begin again: reset, bias, failed reads, loading; and the
// draft stages' experts.
#include "base/temp_dir.h"
#include "experts/tiered_bench.h"

namespace rota {

TEST_CASE(
    "what enters a slot is counted, from the arena and from the file, and so is what keeps a "
    "place") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  const auto tiers = load(blobs, quarters(blobs));  // layer 0: 0..2 in slots, 3..5 in the arena
  const auto call_with = [&](std::vector<int> ids) {
    FakeCall call(1, kTopK, kExperts, kDim, 1);
    call.ids = std::move(ids);
    std::vector<float> y(kDim);
    tiers->begin_pass(PassKind::kDecode, 1);
    REQUIRE(tiers->run(0, 1, kTopK, call.ids.data(), call.weights.data(), call.x.data(), y.data())
                .ok());
    return tiers->take_tally();
  };
  CHECK(call_with({0, 3, 11}).admitted == 0);
  const ExpertTally both = call_with({0, 3, 11});
  CHECK(both.admitted == 2);
  CHECK(both.demoted == 1);  // 3's victim took its place; 11 left none
  CHECK(call_with({3, 11, 4}).admitted == 0);
  const ExpertTally arena = call_with({3, 11, 4});
  CHECK(arena.admitted == 1);
  CHECK(arena.demoted == 1);
  CHECK(call_with({3, 11, 8}).admitted == 0);
  const ExpertTally file = call_with({3, 11, 8});
  CHECK(file.admitted == 1);
  CHECK(file.demoted == 0);
}

TEST_CASE("reset restores the placement and its bytes; counters repeat") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions options = quarters(blobs);
  options.placement.pcie = options.placement.batch_pcie = 0.3;
  options.prefetch = 1;
  const auto tiers = load(blobs, options);
  const Trace first = play(*tiers, 12, 2, true);
  const ExpertTally counts = total(first);
  CHECK(counts.admitted > 0);
  CHECK(counts.demoted > 0);
  CHECK(counts.source[Source::kPcie] > 0);
  const Trace carried = play(*tiers, 12, 2, true);
  CHECK(carried.y == first.y);
  CHECK(total(carried).source.of != counts.source.of);
  REQUIRE(tiers->reset().ok());
  const Trace second = play(*tiers, 12, 2, true);
  CHECK(second.y == first.y);
  check_same_counts(total(second), counts);
  check_same_counts(total(play(*load(blobs, options), 12, 2, true)), counts);
}

TEST_CASE("bias follows live residency and is signed") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  TieredOptions options = quarters(blobs);
  options.route_bias = 0.5f;
  options.route_bias_file = 0.25f;
  const auto tiers = load(blobs, options);
  tiers->begin_pass(PassKind::kDecode, 1);
  const float* bias = tiers->selection_bias(0);
  REQUIRE(bias != nullptr);
  CHECK(bias[0] == 0.5f);
  CHECK(bias[kExperts / 4] == 0.0f);
  CHECK(bias[kExperts - 1] == -0.25f);
  // kExperts - 1 misses twice, enters, and is then favoured.
  for (int i = 0; i < 2; ++i) {
    FakeCall call(1, kTopK, kExperts, kDim, 1);
    call.ids = {0, 1, kExperts - 1};
    std::vector<float> y(kDim);
    REQUIRE(tiers->run(0, 1, kTopK, call.ids.data(), call.weights.data(), call.x.data(), y.data())
                .ok());
  }
  CHECK(tiers->selection_bias(0)[kExperts - 1] == 0.5f);
}

TEST_CASE("the bias acts on prompt rows only by its factor") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  TieredOptions options = quarters(blobs);
  options.route_bias = 0.5f;
  options.route_bias_file = 0.25f;
  options.prompt_bias = 0.5f;
  const auto tiers = load(blobs, options);
  tiers->begin_pass(PassKind::kPrefill, 1);
  REQUIRE(tiers->selection_bias(0) != nullptr);
  CHECK(tiers->selection_bias(0)[0] == 0.25f);
  CHECK(tiers->selection_bias(0)[kExperts - 1] == -0.125f);
  tiers->begin_pass(PassKind::kVerify, 1);
  CHECK(tiers->selection_bias(0)[0] == 0.5f);
}

TEST_CASE("the routes that run() was given are in the log") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  const TempDir dir;
  TieredOptions options = quarters(blobs);
  options.skip.miss = 0.9f;  // what is skipped was chosen all the same
  {
    auto log = RouteLog::open(dir / "r", {kLayers, kExperts, kTopK});
    REQUIRE(log.ok());
    const auto tiers = load(blobs, options);
    tiers->log_routes(log.value().get());
    play(*tiers, 2, 4, false, PassKind::kVerify);
    play(*tiers, 1, 6, false, PassKind::kPrefill);
  }
  const auto counts = count_routes({dir / "r"}, {RowKind::kVerify});
  REQUIRE(counts.ok());
  CHECK(counts.value().rows == std::array<int64_t, kRowKinds>{6, 0, 8});
  std::vector<int64_t> uses(static_cast<size_t>(kLayers * kExperts));
  for (int layer = 0; layer < kLayers; ++layer) {
    const FakeCall call(4, kTopK, kExperts, kDim, static_cast<uint64_t>(layer));
    for (const int e : call.ids) uses[static_cast<size_t>(layer * kExperts + e)] += 2;
  }
  CHECK(counts.value().uses == uses);
}

TEST_CASE("a failed read is the call's error; afterwards the tiers still compute the truth") {
  FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  const TieredOptions options = quarters(blobs);
  const auto tiers = load(blobs, options);
  FakeCall call(1, kTopK, kExperts, kDim, 1);
  call.ids = {0, 3, kExperts - 1};
  std::vector<float> y(kDim), again(kDim);
  const auto run = [&](std::vector<float>& out) {
    tiers->begin_pass(PassKind::kDecode, 1);
    return tiers->run(0, 1, kTopK, call.ids.data(), call.weights.data(), call.x.data(), out.data());
  };
  REQUIRE(run(y).ok());
  blobs.fail_id = kExperts - 1;  // layer 0; its second miss would have admitted it
  CHECK(run(again).message() == "disk on fire");
  blobs.fail_id = -1;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(run(again).ok());
    CHECK(again == y);
  }
  blobs.fail_id = 2;  // pushed out of its slot by now
  CHECK(!tiers->reset().ok());
  CHECK(run(again).code() == Code::kIo);
  blobs.fail_id = -1;
  REQUIRE(tiers->reset().ok());
  REQUIRE(run(again).ok());
  CHECK(again == y);
}

TEST_CASE("a load reports progress and can be stopped; a failed one says why") {
  FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  const TieredOptions options = quarters(blobs);
  uint64_t seen = 0;
  auto all = TieredExperts::load(blobs, threads(), kShape, options, [&](uint64_t bytes) {
    CHECK(bytes > seen);
    seen = bytes;
    return true;
  });
  REQUIRE(all.ok());
  CHECK(seen == all.value()->placement().slots_bytes() + all.value()->placement().arena_bytes());
  CHECK(seen == TieredExperts::load_bytes(blobs, options));
  CHECK(TieredExperts::memory_bytes(blobs, kShape, options) > seen);
  const auto stopped =
      TieredExperts::load(blobs, threads(), kShape, options, [](uint64_t) { return false; });
  CHECK(stopped.status().code() == Code::kCancelled);
  blobs.fail_id = 1;
  CHECK(TieredExperts::load(blobs, threads(), kShape, options, nullptr).status().message() ==
        "disk on fire");
}

TEST_CASE("draft experts compute the same bits and count lookups and distinct bytes") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions ram;
  ram.placement.arena_bytes = UINT64_MAX;
  const auto tiers = load(blobs, ram);
  auto resident = DraftExperts::load(blobs, threads(), kShape);
  REQUIRE(resident.ok());
  FakeCall call(2, kTopK, kExperts, kDim, 3);
  call.ids = {1, 2, 3, 3, 2, 5};
  std::vector<float> a(2 * kDim), b(2 * kDim);
  tiers->begin_pass(PassKind::kDecode, 2);
  REQUIRE(
      tiers->run(1, 2, kTopK, call.ids.data(), call.weights.data(), call.x.data(), a.data()).ok());
  REQUIRE(resident.value()
              ->run(1, 2, kTopK, call.ids.data(), call.weights.data(), call.x.data(), b.data())
              .ok());
  CHECK(a == b);
  const DraftTally tally = resident.value()->take_tally();
  CHECK(tally.lookups == 6);
  uint64_t bytes = 0;
  for (const int e : {1, 2, 3, 5}) bytes += blobs.layout(1, e).bytes;
  CHECK(tally.bytes == static_cast<int64_t>(bytes));
  CHECK(resident.value()->take_tally().lookups == 0);
}

}  // namespace rota
