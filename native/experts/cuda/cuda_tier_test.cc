// The tiers with slots on a GPU against the same tiers on the host: the same counters in every
// placement, the same answers within the arithmetic's rounding, the same bits again.
#include "experts/cuda/tier_streams.cuh"
#include "experts/tiered_bench.h"

namespace rota {
namespace {

CudaStream& stream() {
  static auto opened = CudaStream::open(0);
  REQUIRE(opened.ok());
  return *opened.value();
}

Result<std::unique_ptr<DeviceTier>> on_gpu(const DeviceTierNeeds& needs) {
  ROTA_ASSIGN_OR_RETURN(auto tier, CudaTier::create(stream(), needs));
  return std::unique_ptr<DeviceTier>(std::move(tier));
}

// x and y of the largest call on the device.
struct Rows {
  float *x, *y;
  Rows() {
    const size_t bytes = static_cast<size_t>(kMaxRows * kDim) * sizeof(float);
    auto a = stream().allocate(bytes, "x"), b = stream().allocate(bytes, "y");
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    x = static_cast<float*>(a.value());
    y = static_cast<float*>(b.value());
  }
};

void run_on_gpu(TieredExperts& tiers, int layer, const FakeCall& call, float* y) {
  static Rows rows;
  const size_t bytes = call.x.size() * sizeof(float);
  cudaMemcpyAsync(rows.x, call.x.data(), bytes, cudaMemcpyHostToDevice, stream().use());
  const Status done =
      tiers.run(layer, call.rows, kTopK, call.ids.data(), call.weights.data(), rows.x, rows.y);
  REQUIRE_MESSAGE(done.ok(), done.message());
  cudaMemcpyAsync(y, rows.y, bytes, cudaMemcpyDeviceToHost, stream().use());
  REQUIRE(stream().wait().ok());
}

Trace play_on_gpu(const FakeBlobs& blobs, const TieredOptions& options, int passes, int rows,
                  PassKind kind = PassKind::kDecode) {
  const auto tiers = load(blobs, options, on_gpu);
  return play(*tiers, passes, rows, true, kind, 0, run_on_gpu);
}

// The pool rounds activations to 16 bits where a format has an integer kernel; the GPU's kernels
// are as near to the formula as plain fp32 sums.
void check_near(const Trace& a, const Trace& b, const char* what) {
  REQUIRE(a.y.size() == b.y.size());
  float worst = 0, scale = 0;
  for (size_t i = 0; i < a.y.size(); ++i) {
    worst = std::isfinite(a.y[i]) ? std::max(worst, std::fabs(a.y[i] - b.y[i])) : INFINITY;
    scale = std::max(scale, std::fabs(b.y[i]));
  }
  const float within = pool_tolerance(Format::kQ2_0, kDim) + 7 * 2 * kDim * 0x1p-23f;
  MESSAGE(std::string(what), ": largest difference ", worst / scale, ", tolerance ", within);
  CHECK_MESSAGE(worst <= within * scale, what);
}

struct Setting {
  const char* name;
  TieredOptions options;
};

std::vector<Setting> settings(const FakeBlobs& blobs) {
  std::vector<Setting> all;
  TieredOptions o = quarters(blobs);
  all.push_back({"quarters", o});
  o.placement.pcie = o.placement.batch_pcie = 0.5;
  all.push_back({"half of the misses copied", o});
  o.placement.pcie = o.placement.batch_pcie = 1;
  o.placement.max_staged = 2;
  o.prefetch = 2;
  all.push_back({"two copies a call, prefetch", o});
  o = quarters(blobs);
  o.placement.lru_window = 1 << 20;
  all.push_back({"everything is admitted", o});
  o.placement.arena_bytes *= 3;
  all.push_back({"everything is admitted, no file", o});
  o.skip.miss = 0.4f;
  o.skip.renorm = true;
  all.push_back({"misses skipped", o});
  all.push_back({"slots alone", {}});
  all.back().options.placement.slots_bytes = UINT64_MAX;
  all.push_back({"arena alone", {}});
  all.back().options.placement.arena_bytes = UINT64_MAX;
  all.push_back({"file alone", {}});
  return all;
}

}  // namespace

TEST_CASE("counters are the host's in every placement, answers as near as fp32 sums") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  for (const Setting& setting : settings(blobs)) {
    for (const int rows : {1, 4}) {
      CAPTURE(setting.name);
      CAPTURE(rows);
      const Trace host = play(*load(blobs, setting.options), 12, rows, true);
      const Trace gpu = play_on_gpu(blobs, setting.options, 12, rows);
      for (size_t p = 0; p < host.passes.size(); ++p) {
        check_same_counts(host.passes[p], gpu.passes[p]);
      }
      check_identities(blobs, total(gpu), 12 * rows);
      check_near(gpu, host, setting.name);
      CHECK(play_on_gpu(blobs, setting.options, 12, rows).y == gpu.y);
    }
  }
}

TEST_CASE("prompts leave the placement alone on a GPU too") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  const Trace host = play(*load(blobs, quarters(blobs)), 3, kMaxRows, true, PassKind::kPrefill);
  const Trace gpu = play_on_gpu(blobs, quarters(blobs), 3, kMaxRows, PassKind::kPrefill);
  check_same_counts(total(host), total(gpu));
  CHECK(total(gpu).admitted == 0);
  check_near(gpu, host, "prompt");
}

TEST_CASE("a reset brings back slots and places of the arena") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions options = quarters(blobs);
  options.placement.lru_window = 1 << 20;
  const auto tiers = load(blobs, options, on_gpu);
  const Trace first = play(*tiers, 6, 2, false, PassKind::kDecode, 0, run_on_gpu);
  CHECK(total(first).admitted > 0);
  CHECK(total(first).demoted > 0);
  REQUIRE(tiers->reset().ok());
  const Trace again = play(*tiers, 6, 2, false, PassKind::kDecode, 0, run_on_gpu);
  CHECK(again.y == first.y);
  check_same_counts(total(again), total(first));
}

TEST_CASE("a failed read leaves tiers that go on") {
  FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions options = quarters(blobs);
  options.placement.lru_window = 1 << 20;
  const auto tiers = load(blobs, options, on_gpu);
  const FakeCall call(4, kTopK, kExperts, kDim, 1);
  for (int id = 0; id < kExperts; ++id) {
    if (tiers->placement().tier(0, id) == Tier::kFile) blobs.fail_id = id;
  }
  std::vector<float> y(static_cast<size_t>(4 * kDim));
  Rows rows;
  FakeCall hits_the_bad_one = call;
  hits_the_bad_one.ids[0] = blobs.fail_id;
  tiers->begin_pass(PassKind::kDecode, 4);
  CHECK(tiers->run(0, 4, kTopK, hits_the_bad_one.ids.data(), call.weights.data(), rows.x, rows.y)
            .message() == "disk on fire");
  blobs.fail_id = -1;
  REQUIRE(tiers->reset().ok());
  CHECK(play(*tiers, 4, 2, false, PassKind::kDecode, 0, run_on_gpu).y ==
        play(*load(blobs, options, on_gpu), 4, 2, false, PassKind::kDecode, 0, run_on_gpu).y);
}

TEST_CASE("costs are measured on what a copy and the pool take") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, {Format::kQ2_0});
  TieredOptions options = quarters(blobs);
  options.balance_pcie = options.balance_batch_pcie = true;
  const auto tiers = load(blobs, options, on_gpu);
  CHECK(tiers->single_costs().known());
  CHECK(tiers->batch_costs().known());
}

TEST_CASE("draft experts on a GPU are all hits of one tier") {
  const FakeBlobs blobs(kLayers, kExperts, kDim, kInter, kMixed);
  TieredOptions slots;
  slots.placement.slots_bytes = UINT64_MAX;
  const auto tiers = load(blobs, slots, on_gpu);
  auto drafts = DraftExperts::load(blobs, threads(), kShape, {}, on_gpu);
  REQUIRE(drafts.ok());
  const FakeCall call(4, kTopK, kExperts, kDim, 3);
  std::vector<float> a(static_cast<size_t>(4 * kDim)), b(a.size());
  run_on_gpu(*tiers, 1, call, a.data());
  Rows rows;
  const size_t bytes = a.size() * sizeof(float);
  cudaMemcpyAsync(rows.x, call.x.data(), bytes, cudaMemcpyHostToDevice, stream().use());
  REQUIRE(
      drafts.value()->run(1, 4, kTopK, call.ids.data(), call.weights.data(), rows.x, rows.y).ok());
  cudaMemcpyAsync(b.data(), rows.y, bytes, cudaMemcpyDeviceToHost, stream().use());
  REQUIRE(stream().wait().ok());
  CHECK(a == b);
  CHECK(drafts.value()->take_tally().lookups == 4 * kTopK);
}

TEST_CASE("slots that do not fit are refused with what to lower") {
  DeviceTierNeeds needs;
  needs.slots_bytes = uint64_t{1} << 50;
  needs.max_blob = 64;
  needs.layers = 1;
  needs.shape = kShape;
  const auto refused = on_gpu(needs);
  REQUIRE(!refused.ok());
  CHECK(refused.status().code() == Code::kOutOfMemory);
  CHECK(refused.status().message().find("expert slots (lower --slots)") == 0);
}

}  // namespace rota
