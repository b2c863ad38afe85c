// What a miss costs on this machine: bringing an expert to the device, computing it on the CPU.
// Measured once, on experts of the arena, in calls of the size that decode will make.
#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/rng.h"
#include "experts/tiered_experts.h"

namespace rota {
namespace {

// A few layers, so that caches hold little of what is read; the fastest round is the one that
// nobody disturbed.
constexpr int kLayersMeasured = 4, kRounds = 3;

// A seeded answer of a router over the experts that `layer` holds in the arena, distinct in a row
// where there are enough.
std::vector<int> draw(const std::vector<int>& held, int rows, int top_k, int layer) {
  const uint64_t seed = static_cast<uint64_t>(layer) << 32;
  std::vector<int> ids;
  for (int row = 0; row < rows; ++row) {
    const uint64_t start = splitmix64(seed + static_cast<uint64_t>(row));
    for (int k = 0; k < top_k; ++k) {
      ids.push_back(held[(start + static_cast<uint64_t>(k)) % held.size()]);
    }
  }
  return ids;
}

}  // namespace

Status TieredExperts::choose_split() {
  if (options_.balance_pcie) {
    ROTA_ASSIGN_OR_RETURN(single_costs_, measure_costs(1));
  }
  if (options_.balance_batch_pcie) {
    ROTA_ASSIGN_OR_RETURN(batch_costs_, measure_costs(options_.verify_rows));
  }
  placement_.balance(single_costs_, batch_costs_);
  initial_.balance(single_costs_, batch_costs_);
  return Status();
}

// Computing and copying in turn, over all calls: when the copies begin, what was computed first has
// left the caches.
Result<MissCosts> TieredExperts::measure_costs(int rows) {
  rows = std::min(rows, shape_.max_rows);
  std::vector<std::vector<int>> calls;  // by layer; empty = it holds nothing in the arena
  int measured = 0;
  for (int layer = 0; layer < placement_.layers() && measured < kLayersMeasured; ++layer) {
    std::vector<int> held;
    for (int e = 0; e < placement_.experts(); ++e) {
      if (placement_.tier(layer, e) == Tier::kArena) held.push_back(e);
    }
    calls.push_back(held.empty() ? held : draw(held, rows, shape_.top_k, layer));
    if (!held.empty()) ++measured;
  }
  if (measured == 0) return MissCosts();  // nothing is ever missed into the arena
  const auto pairs = static_cast<size_t>(rows) * static_cast<size_t>(shape_.top_k);
  const std::vector<float> x(static_cast<size_t>(rows) * static_cast<size_t>(shape_.dim), 0.01f);
  const std::vector<float> weights(pairs, 1.0f);
  std::vector<float> y(x.size());
  const auto plan_call = [&](size_t layer) {
    plan_.build(rows, shape_.top_k, calls[layer].data());
    jobs_.clear();
    for (size_t i = 0; i < plan_.distinct().size(); ++i) {
      const int l = static_cast<int>(layer), e = plan_.distinct()[i];
      jobs_.push_back({home_of(l, e), &source_.layout(l, e), i});
    }
  };
  const auto each_call = [&](auto&& work) {
    int64_t ns = 0, experts = 0;
    for (size_t layer = 0; layer < calls.size(); ++layer) {
      if (calls[layer].empty()) continue;
      plan_call(layer);
      const int64_t start = now_ns();
      work();
      ns += now_ns() - start;
      experts += static_cast<int64_t>(jobs_.size());
    }
    return static_cast<double>(ns) / static_cast<double>(experts);
  };
  Status copied;
  MissCosts best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (int round = 0; round < kRounds; ++round) {
    best.cpu_ns = std::min(best.cpu_ns, each_call([&] {
                             pool_->begin(plan_, shape_.top_k, weights.data(), x.data());
                             pool_->compute(jobs_);
                             pool_->finish(rows, y.data());
                           }));
    best.copy_ns = std::min(best.copy_ns, each_call([&] {
                              for (const ExpertJob& job : jobs_) {
                                device_->stage(0, job.blob, *job.layout);
                              }
                              copied = device_->settle();
                            }));
    ROTA_RETURN_IF_ERROR(std::move(copied));
  }
  return MissCosts{std::max(best.copy_ns, 1.0), std::max(best.cpu_ns, 1.0)};
}

}  // namespace rota
