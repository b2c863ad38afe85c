// Routed experts in three tiers: device slots, pinned arena, file. Owns the memory of the tiers and
// moves the bytes as the placement says; computes through the pool. On `host` the slots are RAM and
// hits run on the same kernels, so that an expert's bits are the same in every tier.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "experts/call_plan.h"
#include "experts/counted_experts.h"
#include "experts/expert_pool.h"
#include "experts/file_stage.h"
#include "experts/placement.h"
#include "experts/routes.h"
#include "experts/skip.h"

namespace rota {

struct TieredOptions {
  PlacementOptions placement;
  Ranking ranking;  // empty = index order
  int file_readers = 4;
  double prefetch = 0;   // blobs a layer that are read a layer ahead, on average; 0 = none
  float route_bias = 0;  // added to the selection scores of slot-held experts; LOSSY when not 0
  float route_bias_file =
      0;  // SUBTRACTED from those of experts that would need a file read; LOSSY when not 0
  float prompt_bias = 0;  // the factor of both on prompt rows; 0 = they are routed exactly
  SkipOptions skip;       // LOSSY
  // The PCIe share is chosen by what copying and computing cost, measured at load.
  bool balance_pcie = false, balance_batch_pcie = false;
  int verify_rows = 2;  // of a pass whose cost is measured for the latter
};

// false stops the load (kCancelled).
using LoadProgress = std::function<bool(uint64_t bytes_done)>;

class TieredExperts : public CountedExperts {
 public:
  // The source must outlive it.
  static Result<std::unique_ptr<TieredExperts>> load(const BlobSource& source, ThreadPool& threads,
                                                     const ExpertShape& shape,
                                                     const TieredOptions& options,
                                                     const LoadProgress& progress);
  // Memory that load() would take, for a refusal before it is taken.
  static uint64_t memory_bytes(const BlobSource& source, const ExpertShape& shape,
                               const TieredOptions& options);

  // Blob bytes that load() reads.
  static uint64_t load_bytes(const BlobSource& source, const TieredOptions& options);

  void begin_pass(PassKind kind, int rows) override;
  const float* selection_bias(int layer) override;
  bool wants_hints() const override;
  void hint(int layer, int rows, int top_k, const int* ids) override;
  bool computes_on_host() const override { return true; }
  Status run(int layer, int rows, int top_k, const int* ids, const float* weights, const float* x,
             float* y) override;

  ExpertTally take_tally() override;
  // Puts the placement back to what it was after load(): what follows counts as after a fresh
  // start.
  Status reset();

  // From here on the log, which must outlive the passes, is told every answer of the router.
  void log_routes(RouteLog* routes) { routes_ = routes; }

  const Placement& placement() const { return placement_; }
  // What holds the experts in RAM: slots and arena.
  std::vector<std::span<const uint8_t>> memory() const {
    return {{slots_.data(), slots_.size()}, {arena_.data(), arena_.size()}};
  }
  // What was measured for shares that are chosen; unknown for those that were given.
  const MissCosts& single_costs() const { return single_costs_; }
  const MissCosts& batch_costs() const { return batch_costs_; }
  // Empty when the arena is locked in memory; else why it is not.
  const std::string& arena_unlocked() const { return arena_unlocked_; }

 private:
  TieredExperts(const BlobSource& source, const ExpertShape& shape, const TieredOptions& options,
                Placement placement);
  struct Load {
    int id;
    uint8_t* dst;
  };
  Status load_blobs(const std::vector<Load>& loads, const LoadProgress& progress);
  MissCosts measure_costs(int rows);
  void choose_split();
  uint8_t* home_of(int layer, int expert);
  void count(size_t distinct, Source source);
  void stage_pcie();
  void begin_pool(int top_k, const float* weights, const float* x);
  void compute_jobs();
  void finish_pool(int rows, float* y);
  void compute_held();
  void move_admitted();
  Status compute_file();
  void fail_admissions();

  const BlobSource& source_;
  ExpertShape shape_;
  TieredOptions options_;
  Placement placement_, initial_;
  AlignedBuffer slots_, arena_, staged_, bounce_;
  std::string arena_unlocked_;
  uint64_t max_blob_ = 0;
  bool intact_ = false;  // memory holds what placement_ says
  std::unique_ptr<ExpertPool> pool_;
  std::unique_ptr<FileStage> stage_;
  std::vector<float> bias_;
  ExpertTally tally_;
  CallPlan plan_;
  Skipper skipper_;
  RouteLog* routes_ = nullptr;
  Dither prefetch_carry_;
  MissCosts single_costs_, batch_costs_;

  // Of the pass and the layer call in progress.
  PassKind kind_ = PassKind::kDecode;
  int layer_ = 0;
  std::vector<Source> sources_;
  std::vector<uint8_t*> held_;  // [distinct]: where the bytes are, nullptr for the file tier
  std::vector<Admission> admissions_;
  std::vector<ExpertJob> jobs_;
  std::vector<int> file_experts_;
  std::vector<size_t> file_distinct_;  // [file_experts_]: index into the plan
  std::vector<uint8_t> late_;
  std::vector<uint8_t> hinted_;  // [experts], 1 = seen in this hint
};

}  // namespace rota
