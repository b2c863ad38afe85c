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
      CHECK(std::fabs(reference.y[i] - expected[i]) <= pool_tolerance(Format::kQ2_0, 128) * scale);
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

TEST_CASE("experts that lie in place are neither read nor moved out, and give the same bits") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions copied = quarters(blobs), in_place = copied;
  copied.placement.arena_bytes = UINT64_MAX;
  in_place.placement.in_place = true;
  in_place.placement.batch_pcie = copied.placement.batch_pcie = 0.4;
  const Trace there = play(*load(blobs, copied), 8, 4);
  blobs.reads = 0;
  const auto tiers = load(blobs, in_place);
  const Trace here = play(*tiers, 8, 4);
  CHECK(blobs.reads == 0);
  CHECK(here.y == there.y);
  const ExpertTally a = total(there), b = total(here);
  check_identities(blobs, b, 8 * 4);
  CHECK(b.source[Source::kHit] == a.source[Source::kHit]);
  CHECK(b.source[Source::kHit] > 0);
  CHECK(b.source[Source::kFile] == 0);
  CHECK(b.admitted == a.admitted);
  CHECK(b.admitted > 0);
  CHECK(b.demoted == 0);
  REQUIRE(tiers->reset().ok());
  CHECK(play(*tiers, 8, 4).y == here.y);
  CHECK(TieredExperts::load_bytes(blobs, in_place) == tiers->placement().slots_bytes());
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
  // All that the next layer needs, so that the layer between has no read of its own to wait for.
  options.prefetch = kTopK;
  const auto tiers = load(blobs, options);
  // Longer than a layer computes; on a machine that is busy with other things, much longer.
  ExpertTally t;
  for (int delay_us = 20000; delay_us <= 2000000 && t.prefetch.late == 0; delay_us *= 10) {
    blobs.delay_us = delay_us;
    blobs.reads = 0;
    t = total(play(*tiers, delay_us > 100000 ? 1 : 4, 1, true));
    CHECK(t.source[Source::kFile] == t.lookups);
    CHECK(t.prefetch.issued == t.lookups / kLayers / kTopK * (kLayers - 1) * kTopK);
    CHECK(t.prefetch.useful == t.prefetch.issued);  // the guess was the truth
    CHECK(t.prefetch.unused_bytes == 0);
    CHECK(t.late == t.prefetch.late);  // one row: a blob is one lookup
    CHECK(blobs.reads == t.distinct[Source::kFile]);
  }
  CHECK(t.prefetch.late > 0);
}

TEST_CASE("a fraction of a prefetch is read in as many layers, and what a call rounds is carried") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  TieredOptions options;
  const auto issued = [&](double budget, int passes) {
    options.prefetch = budget;
    return total(play(*load(blobs, options), passes, 1, true)).prefetch.issued;
  };
  CHECK(issued(0.5, 10) == 10 * (kLayers - 1) / 2);
  CHECK(issued(1.25, 10) == 25);
  CHECK(issued(0.7, 10) == 14);
  options.prefetch = 0.7;
  const auto tiers = load(blobs, options);
  const Trace first = play(*tiers, 3, 1, true);  // 4.2 reads: 0.2 is carried
  REQUIRE(tiers->reset().ok());
  const Trace second = play(*tiers, 3, 1, true);
  for (size_t pass = 0; pass < 3; ++pass) {
    CHECK(first.passes[pass].prefetch.issued == second.passes[pass].prefetch.issued);
  }
}

TEST_CASE("a chosen share is measured where it is asked for, balances, and changes no bit") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions ram;
  ram.placement.arena_bytes = UINT64_MAX;
  const auto plain = load(blobs, ram);
  CHECK(!plain->single_costs().known());
  const Trace single = play(*plain, 6, 1), batch = play(*plain, 6, 4);
  ram.balance_pcie = true;
  const auto one = load(blobs, ram);
  CHECK(one->single_costs().known());
  CHECK(!one->batch_costs().known());
  CHECK(play(*one, 6, 1).y == single.y);
  ram.balance_batch_pcie = true;
  ram.verify_rows = 4;
  const auto both = load(blobs, ram);
  CHECK(both->batch_costs().known());
  ExpertTally tally = total(play(*both, 6, 1));
  check_identities(blobs, tally, 6);
  // Every call misses kTopK experts into the arena.
  CHECK(tally.source[Source::kPcie] == 6 * kLayers * balanced_copies(kTopK, both->single_costs()));
  const Trace balanced = play(*both, 6, 4);
  CHECK(balanced.y == batch.y);
  REQUIRE(both->reset().ok());
  CHECK(total(play(*both, 6, 1)).source.of == tally.source.of);
  TieredOptions empty;
  empty.balance_pcie = true;
  CHECK(!load(blobs, empty)->single_costs().known());  // nothing is missed into the arena
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
  CHECK(!prompted->wants_hints(0));
  const Trace a = play(*fresh, 10, 2, true), b = play(*prompted, 10, 2, true);
  CHECK(a.y == b.y);
  check_same_counts(total(a), total(b));
}

TEST_CASE("a guess is wanted of layers that have experts in the file, and of no others") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  TieredOptions options = quarters(blobs);
  options.prefetch = 2;
  const auto some = load(blobs, options);
  some->begin_pass(PassKind::kDecode, 1);
  CHECK(some->wants_hints(1));
  options.placement.arena_bytes = UINT64_MAX;
  const auto none = load(blobs, options);
  none->begin_pass(PassKind::kDecode, 1);
  CHECK(!none->wants_hints(1));
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
