// Routed experts in three tiers: device slots, pinned arena, file. Owns the arena, and says which
// bytes move where as the placement decides; what lies on the device is its tier's (device_tier.h),
// the rest is computed through the pool.
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
#include "experts/device_tier.h"
#include "experts/expert_pool.h"
#include "experts/file_stage.h"
#include "experts/placement.h"
#include "experts/ram_tier.h"
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
                                                     const LoadProgress& progress,
                                                     const MakeDeviceTier& device = make_ram_tier);
  // Memory that load() would take, for a refusal before it is taken: of a host that is its own
  // device; and in parts for one beside a device.
  static uint64_t memory_bytes(const BlobSource& source, const ExpertShape& shape,
                               const TieredOptions& options);
  struct Memory {
    uint64_t slots = 0, staged = 0;           // on the device
    uint64_t arena = 0, files = 0, pool = 0;  // on the host
  };
  static Memory memory_parts(const BlobSource& source, const ExpertShape& shape,
                             const TieredOptions& options);

  // Blob bytes that load() reads.
  static uint64_t load_bytes(const BlobSource& source, const TieredOptions& options);

  void begin_pass(PassKind kind, int rows) override;
  const float* selection_bias(int layer) override;
  bool wants_hints(int layer) const override;
  void hint(int layer, int rows, int top_k, const int* ids) override;
  void arrive(const float* x, int rows) override;
  bool computes_on_host() const override { return !device_->computes(); }
  Status run(int layer, int rows, int top_k, const int* ids, const float* weights, const float* x,
             float* y) override;

  ExpertTally take_tally() override;
  // Puts the placement back to what it was after load(): what follows counts as after a fresh
  // start.
  Status reset();

  // From here on the log, which must outlive the passes, is told every answer of the router.
  void log_routes(RouteLog* routes) { routes_ = routes; }

  const Placement& placement() const { return placement_; }
  // What holds the experts in RAM: the arena, and slots that are RAM.
  std::vector<std::span<const uint8_t>> memory() const;
  bool in_place() const { return options_.placement.in_place; }
  const DeviceTier& device() const { return *device_; }
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
    bool into_slot;
    uint64_t offset;  // in the slots' memory or the arena
  };
  std::vector<std::span<const uint8_t>> arena_memory() const;
  void lock_arena();
  Status load_blobs(const std::vector<Load>& loads, const LoadProgress& progress);
  Result<MissCosts> measure_costs(int rows);
  Status choose_split();
  const uint8_t* home_of(int layer, int expert);
  Status fill_slots(const std::vector<Load>& loads, const LoadProgress& progress);
  void count(size_t distinct, Source source);
  void begin_device(int rows, int top_k, const float* weights, const float* x);
  void stage_pcie();
  void begin_pool(int top_k, const float* weights);
  void compute_jobs();
  Status finish_call(float* y);
  void compute_held();
  void compute_on_device();
  void move_admitted();
  Status compute_file();
  Status fail_admissions();

  const BlobSource& source_;
  ExpertShape shape_;
  TieredOptions options_;
  Placement placement_, initial_;
  AlignedBuffer arena_;
  std::string arena_unlocked_;
  std::unique_ptr<DeviceTier> device_;  // copies from the arena: goes before it
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
  std::vector<const uint8_t*> held_;  // [distinct]: where the bytes are, nullptr for the file tier
  std::vector<Admission> admissions_;
  bool pool_computes_ = false;  // a part of the call
  std::vector<ExpertJob> jobs_, hit_jobs_, copied_jobs_;
  std::vector<size_t> pooled_;  // indices into the plan
  std::vector<int> file_experts_;
  std::vector<size_t> file_distinct_;  // [file_experts_]: index into the plan
  std::vector<uint8_t> late_;
  std::vector<uint8_t> hinted_;  // [experts], 1 = seen in this hint
};

}  // namespace rota
