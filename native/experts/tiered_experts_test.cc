// The three tiers end to end on experts in memory: same bits everywhere, every lookup and byte
// counted once.
#include "experts/tiered_experts.h"

#include <doctest/doctest.h>

#include <numeric>

#include "experts/draft_experts.h"
#include "experts/fake_blobs.h"

namespace rota {
namespace {

constexpr int kLayers = 3, kExperts = 12, kDim = 128, kInter = 128, kTopK = 3, kMaxRows = 6;
const ExpertShape kShape{kDim, kInter, kMaxRows, kTopK, 10.f, false};
const std::vector<Format> kMixed = {Format::kQ2_0, Format::kPTQ1_0, Format::kQ8_0};

ThreadPool& threads() {
  ThreadPoolOptions options;
  options.threads = 2;
  options.pin = false;
  static ThreadPool pool(options);
  return pool;
}

TieredOptions quarters(const FakeBlobs& blobs) {
  uint64_t all = 0;
  for (int l = 0; l < kLayers; ++l) {
    for (int e = 0; e < kExperts; ++e) all += blobs.layout(l, e).bytes;
  }
  TieredOptions options;
  options.placement.slots_bytes = all / 4;
  options.placement.arena_bytes = all / 4;
  options.file_readers = 2;
  return options;
}

std::unique_ptr<TieredExperts> load(const FakeBlobs& blobs, const TieredOptions& options) {
  auto tiers = TieredExperts::load(blobs, threads(), kShape, options, nullptr);
  REQUIRE(tiers.ok());
  return std::move(tiers).value();
}

struct Trace {
  std::vector<float> y;  // of all calls
  std::vector<ExpertTally> passes;
};

// `passes` passes of `rows` rows over all layers; with hints, the next layer's true answer is the
// guess.
Trace play(TieredExperts& tiers, int passes, int rows, bool hints = false,
           PassKind kind = PassKind::kDecode, uint64_t seed = 0) {
  Trace trace;
  for (int pass = 0; pass < passes; ++pass) {
    tiers.begin_pass(kind, rows);
    for (int layer = 0; layer < kLayers; ++layer) {
      const auto call_at = [&](int l) {
        return FakeCall(rows, kTopK, kExperts, kDim,
                        seed + static_cast<uint64_t>(pass / 2 * kLayers + l));
      };
      if (hints && layer + 1 < kLayers && tiers.wants_hints()) {
        tiers.hint(layer + 1, rows, kTopK, call_at(layer + 1).ids.data());
      }
      const FakeCall call = call_at(layer);
      std::vector<float> y(static_cast<size_t>(rows * kDim));
      REQUIRE(tiers
                  .run(layer, rows, kTopK, call.ids.data(), call.weights.data(), call.x.data(),
                       y.data())
                  .ok());
      trace.y.insert(trace.y.end(), y.begin(), y.end());
    }
    trace.passes.push_back(tiers.take_tally());
  }
  return trace;
}

ExpertTally total(const Trace& trace) {
  ExpertTally sum;
  for (const ExpertTally& pass : trace.passes) sum += pass;
  return sum;
}

int64_t all_sources(const SourceTally& tally) {
  return std::accumulate(tally.of.begin(), tally.of.end(), int64_t{0});
}

void check_identities(const FakeBlobs& blobs, const ExpertTally& t, int64_t rows) {
  CHECK(t.lookups == rows * kLayers * kTopK);
  CHECK(all_sources(t.source) + t.skipped == t.lookups);
  CHECK(t.late <= t.source[Source::kFile]);
  CHECK(t.prefetch.useful <= t.prefetch.issued);
  std::array<int64_t, kBlobClasses> class_bytes{};
  for (int e = 0; e < 3; ++e) {
    class_bytes[blobs.layout(0, e).tally_class] = static_cast<int64_t>(blobs.layout(0, e).bytes);
  }
  for (size_t s = 0; s < kSources; ++s) {
    int64_t blobs_of_source = 0, bytes = 0;
    for (size_t c = 0; c < kBlobClasses; ++c) {
      blobs_of_source += t.blobs[s][c];
      bytes += t.blobs[s][c] * class_bytes[c];
    }
    CHECK(blobs_of_source == t.distinct.of[s]);
    CHECK(bytes == t.bytes.of[s]);
    CHECK(t.distinct.of[s] <= t.source.of[s]);
  }
}

void check_same_counts(const ExpertTally& a, const ExpertTally& b) {
  CHECK(a.lookups == b.lookups);
  CHECK(a.source.of == b.source.of);
  CHECK(a.distinct.of == b.distinct.of);
  CHECK(a.bytes.of == b.bytes.of);
  CHECK(a.blobs == b.blobs);
  CHECK(a.admitted == b.admitted);
  CHECK(a.demoted == b.demoted);
  CHECK(a.prefetch.issued == b.prefetch.issued);
  CHECK(a.prefetch.useful == b.prefetch.useful);
  CHECK(a.prefetch.unused_bytes == b.prefetch.unused_bytes);
}

}  // namespace

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
  blobs.delay_us = 3000;
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
