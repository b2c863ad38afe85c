// Test material: a small tiered placement on experts in memory, seeded passes over it, and the
// identities of its counters.
#pragma once

#include <doctest/doctest.h>

#include <numeric>

#include "experts/draft_experts.h"
#include "experts/fake_blobs.h"
#include "experts/tiered_experts.h"

namespace rota {

inline constexpr int kLayers = 3, kExperts = 12, kDim = 256, kInter = 256, kTopK = 3, kMaxRows = 6;
inline const ExpertShape kShape{kDim, kInter, kMaxRows, kTopK, 10.f, false};
inline const std::vector<Format> kMixed = {Format::kQ2_0, Format::kPTQ1_0, Format::kQ8_0};

inline ThreadPool& threads() {
  ThreadPoolOptions options;
  options.threads = 2;
  options.pin = false;
  static ThreadPool pool(options);
  return pool;
}

inline TieredOptions quarters(const FakeBlobs& blobs) {
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

inline std::unique_ptr<TieredExperts> load(const FakeBlobs& blobs, const TieredOptions& options,
                                           const MakeDeviceTier& device = make_ram_tier) {
  auto tiers = TieredExperts::load(blobs, threads(), kShape, options, nullptr, device);
  REQUIRE(tiers.ok());
  return std::move(tiers).value();
}

struct Trace {
  std::vector<float> y;  // of all calls
  std::vector<ExpertTally> passes;
};

// Runs a call whose x and y are on the host.
using RunCall = std::function<void(TieredExperts&, int layer, const FakeCall&, float* y)>;
inline void run_call(TieredExperts& tiers, int layer, const FakeCall& call, float* y) {
  REQUIRE(tiers.run(layer, call.rows, kTopK, call.ids.data(), call.weights.data(), call.x.data(), y)
              .ok());
}

// `passes` passes of `rows` rows over all layers; with hints, the next layer's true answer is the
// guess.
inline Trace play(TieredExperts& tiers, int passes, int rows, bool hints = false,
                  PassKind kind = PassKind::kDecode, uint64_t seed = 0,
                  const RunCall& run = run_call) {
  Trace trace;
  for (int pass = 0; pass < passes; ++pass) {
    tiers.begin_pass(kind, rows);
    for (int layer = 0; layer < kLayers; ++layer) {
      const auto call_at = [&](int l) {
        return FakeCall(rows, kTopK, kExperts, kDim,
                        seed + static_cast<uint64_t>(pass / 2 * kLayers + l));
      };
      if (hints && layer + 1 < kLayers && tiers.wants_hints(layer + 1)) {
        tiers.hint(layer + 1, rows, kTopK, call_at(layer + 1).ids.data());
      }
      const FakeCall call = call_at(layer);
      std::vector<float> y(static_cast<size_t>(rows * kDim));
      run(tiers, layer, call, y.data());
      trace.y.insert(trace.y.end(), y.begin(), y.end());
    }
    trace.passes.push_back(tiers.take_tally());
  }
  return trace;
}

inline ExpertTally total(const Trace& trace) {
  ExpertTally sum;
  for (const ExpertTally& pass : trace.passes) sum += pass;
  return sum;
}

inline int64_t all_sources(const SourceTally& tally) {
  return std::accumulate(tally.of.begin(), tally.of.end(), int64_t{0});
}

inline void check_identities(const FakeBlobs& blobs, const ExpertTally& t, int64_t rows) {
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

inline void check_same_counts(const ExpertTally& a, const ExpertTally& b) {
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

}  // namespace rota
