// The draft stages' routed experts: all of them on the device, or those that are kept; where that
// is RAM they are computed by the same pool as the target's. Owns their places and how often each
// was chosen; has one tier, so its tally says only lookups and bytes.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "experts/call_plan.h"
#include "experts/draft_counts.h"
#include "experts/expert_pool.h"
#include "experts/ram_tier.h"
#include "model/routed_experts.h"

namespace rota {

struct DraftTally {
  int64_t lookups = 0;
  int64_t bytes = 0;  // of distinct blobs, once a stage and pass
  DraftTally& operator+=(const DraftTally& other);
};

class DraftExperts : public RoutedExperts {
 public:
  // [stages, experts], 1 = may be routed to; empty: all of them.
  using Kept = std::vector<uint8_t>;
  // Reads every blob of the source that is kept.
  static Result<std::unique_ptr<DraftExperts>> load(const BlobSource& source, ThreadPool& threads,
                                                    const ExpertShape& shape, Kept kept = {},
                                                    const MakeDeviceTier& device = make_ram_tier);
  static uint64_t load_bytes(const BlobSource& source, const Kept& kept = {});
  static uint64_t memory_bytes(const BlobSource& source, const Kept& kept = {});

  void begin_pass(PassKind kind, int rows) override;
  const float* selection_bias(int stage) override;
  void hint(int, int, int, const int*) override {}
  bool computes_on_host() const override { return pool_ != nullptr; }
  Status run(int layer, int rows, int top_k, const int* ids, const float* weights, const float* x,
             float* y) override;

  DraftTally take_tally();
  // Since the load or the last reset.
  const DraftCounts& counts() const { return counts_; }
  void reset() { counts_.clear(); }
  uint64_t bytes() const { return bytes_; }

 private:
  DraftExperts(const BlobSource& source, const ExpertShape& shape, Kept kept);
  size_t id(int stage, int expert) const {
    return static_cast<size_t>(stage * source_.experts() + expert);
  }

  const BlobSource& source_;
  std::unique_ptr<DeviceTier> device_;
  uint64_t bytes_ = 0;
  Kept kept_;
  std::vector<float> bias_;        // [stages, experts], empty when all are kept
  std::vector<uint64_t> offsets_;  // [stages, experts], of those that are kept
  DraftCounts counts_;
  std::unique_ptr<ExpertPool> pool_;
  CallPlan plan_;
  std::vector<ExpertJob> jobs_;
  DraftTally tally_;
};

}  // namespace rota
