// The draft stages' routed experts: all of them in RAM, computed by the same pool as the target's.
// Owns their memory; has no tiers, so its tally says only lookups and bytes.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "experts/call_plan.h"
#include "experts/expert_pool.h"
#include "model/routed_experts.h"

namespace rota {

struct DraftTally {
  int64_t lookups = 0;
  int64_t bytes = 0;  // of distinct blobs, once a stage and pass
  DraftTally& operator+=(const DraftTally& other);
};

class DraftExperts : public RoutedExperts {
 public:
  // Reads every blob of the source.
  static Result<std::unique_ptr<DraftExperts>> load(const BlobSource& source, ThreadPool& threads,
                                                    const ExpertShape& shape);
  static uint64_t memory_bytes(const BlobSource& source);

  void begin_pass(PassKind kind, int rows) override;
  const float* selection_bias(int) override { return nullptr; }
  void hint(int, int, int, const int*) override {}
  Status run(int layer, int rows, int top_k, const int* ids, const float* weights, const float* x,
             float* y) override;

  DraftTally take_tally();

 private:
  DraftExperts(const BlobSource& source, const ExpertShape& shape);

  const BlobSource& source_;
  AlignedBuffer memory_;
  std::vector<uint64_t> offsets_;  // [layers * experts]
  std::unique_ptr<ExpertPool> pool_;
  CallPlan plan_;
  std::vector<ExpertJob> jobs_;
  DraftTally tally_;
};

}  // namespace rota
