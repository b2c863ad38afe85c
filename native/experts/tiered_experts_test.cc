// The three tiers end to end on experts in memory: same bits everywhere, every lookup and byte
// counted once.
#include "experts/tiered_experts.h"

#include "experts/tiered_bench.h"

namespace rota {

TEST_CASE("every placement gives the same bits, and they are the formula's") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions ram;
  ram.placement.arena_bytes = UINT64_MAX;
  const Trace reference = play(*load(blobs, ram), 8, 4);
  {
    const FakeCall call(4, kTopK, kExperts, kDim, 0);
    const auto expected = blobs.reference(0, 4, kTopK, call.ids, call.weights, call.x, 10.f);
    float scale = 0;
    for (const float v : expected) scale = std::max(scale, std::fabs(v));
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(std::fabs(reference.y[i] - expected[i]) <= 2 * 128 * 0x1p-24f * scale);
    }
  }
  for (const double split : {0.0, 0.4, 1.0}) {
    for (const int prefetch : {0, 3}) {
      TieredOptions options = quarters(blobs);
      options.placement.batch_pcie = split;
      options.prefetch = prefetch;
      const Trace trace = play(*load(blobs, options), 8, 4, true);
      CHECK(trace.y == reference.y);
      check_identities(blobs, total(trace), 8 * 4);
    }
  }
  TieredOptions file;
  CHECK(play(*load(blobs, file), 8, 4).y == reference.y);
  TieredOptions slots;
  slots.placement.slots_bytes = UINT64_MAX;
  CHECK(play(*load(blobs, slots), 8, 4).y == reference.y);
}

TEST_CASE("tiers are counted by name") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  SUBCASE("all in slots: hits") {
    TieredOptions options;
    options.placement.slots_bytes = UINT64_MAX;
    const ExpertTally t = total(play(*load(blobs, options), 2, 2));
    CHECK(t.source[Source::kHit] == t.lookups);
    CHECK(t.bytes[Source::kHit] > 0);
  }
  SUBCASE("all in the arena: cpu") {
    TieredOptions options;
    options.placement.arena_bytes = UINT64_MAX;
    const ExpertTally t = total(play(*load(blobs, options), 2, 2));
    CHECK(t.source[Source::kCpu] == t.lookups);
  }
  SUBCASE("all in the arena, share 1: pcie for one row, cpu for several") {
    TieredOptions options;
    options.placement.arena_bytes = UINT64_MAX;
    options.placement.pcie = 1;
    const auto tiers = load(blobs, options);
    ExpertTally t = total(play(*tiers, 2, 1));
    CHECK(t.source[Source::kPcie] == t.lookups);
    CHECK(t.distinct[Source::kPcie] == t.lookups);
    t = total(play(*tiers, 2, 2));
    CHECK(t.source[Source::kCpu] == t.lookups);
  }
  SUBCASE("nothing in memory: file, read again every time") {
    const auto tiers = load(blobs, TieredOptions());
    blobs.reads = 0;
    const ExpertTally t = total(play(*tiers, 2, 2));
    CHECK(t.source[Source::kFile] == t.lookups);
    CHECK(t.distinct[Source::kFile] == blobs.reads);
    CHECK(t.file_wait_ns > 0);
    CHECK(t.file_wait_ns <= t.experts_ns);
  }
}

TEST_CASE("prefetch reads what the next layer needs; lookups stay file, late ones are counted") {
  FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  TieredOptions options;
  options.prefetch = 2;
  const auto tiers = load(blobs, options);
  blobs.delay_us = 20000;  // longer than a layer computes, also in a sanitized build
  const ExpertTally t = total(play(*tiers, 4, 1, true));
  CHECK(t.source[Source::kFile] == t.lookups);
  CHECK(t.prefetch.issued == 4 * (kLayers - 1) * 2);
  CHECK(t.prefetch.useful == t.prefetch.issued);  // the guess was the truth
  CHECK(t.prefetch.unused_bytes == 0);
  CHECK(t.prefetch.late > 0);
  CHECK(t.late == t.prefetch.late);  // one row: a blob is one lookup
  CHECK(blobs.reads == t.distinct[Source::kFile]);
}

TEST_CASE("prompt passes are counted, route exactly, and leave the placement alone") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions options = quarters(blobs);
  options.route_bias = 0.5f;
  options.placement.batch_pcie = 1;
  options.prefetch = 2;
  const auto fresh = load(blobs, options);
  const auto prompted = load(blobs, options);
  const ExpertTally prompt = total(play(*prompted, 5, 6, true, PassKind::kPrefill, 900));
  check_identities(blobs, prompt, 5 * 6);
  CHECK(prompt.source[Source::kPcie] == 0);
  CHECK(prompt.admitted == 0);
  CHECK(prompt.prefetch.issued == 0);
  prompted->begin_pass(PassKind::kPrefill, 1);
  CHECK(prompted->selection_bias(0) == nullptr);
  CHECK(!prompted->wants_hints());
  const Trace a = play(*fresh, 10, 2, true), b = play(*prompted, 10, 2, true);
  CHECK(a.y == b.y);
  check_same_counts(total(a), total(b));
}

TEST_CASE("admission moves bytes: hits rise, and what entered is what is computed") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  TieredOptions options = quarters(blobs);
  TieredOptions fixed = options;
  fixed.placement.lru_window = 0;
  // The same call again and again: what missed twice is then held.
  const auto again = [&](TieredExperts& tiers) {
    ExpertTally last;
    for (int i = 0; i < 6; ++i) last = total(play(tiers, 1, 2, false, PassKind::kDecode, 40));
    return last;
  };
  const ExpertTally still = again(*load(blobs, fixed));
  CHECK(still.admitted == 0);
  CHECK(still.source[Source::kHit] < still.lookups);
  const auto tiers = load(blobs, options);
  const ExpertTally warm = again(*tiers);
  CHECK(warm.source[Source::kHit] > still.source[Source::kHit]);
  CHECK(tiers->placement().count(Tier::kSlot) == kLayers * kExperts / 4);
}

}  // namespace rota
