// The strata engine, put together: weights, device, model, tiers, decoder. Owns their lifetimes and
// the order of a load; speaks no protocol.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/memory_limits.h"
#include "base/thread_pool.h"
#include "decode/decoder.h"
#include "device/device.h"
#include "engines/memory_guard.h"
#include "engines/strata/options.h"
#include "engines/strata/slots_budget.h"
#include "engines/strata/weight_watch.h"
#include "experts/draft_experts.h"
#include "experts/file_blobs.h"
#include "experts/tiered_experts.h"
#include "model/model.h"
#include "model/weight_source.h"

namespace rota {

// Bytes in memory so far, of all that will be. false stops the load.
using EngineProgress = std::function<bool(uint64_t bytes, uint64_t total)>;

class StrataEngine {
 public:
  static Result<std::unique_ptr<StrataEngine>> load(const StrataOptions& options,
                                                    const EngineProgress& progress);

  Decoder& decoder() { return *decoder_; }
  // Ok without a ledger.
  Status flush_ledger() { return ledger_ ? ledger_->flush() : Status(); }
  Status reset();
  // The compute thread may run anywhere again: its owner goes on without this engine.
  void release_caller() { threads_->release_caller(); }
  // A request is over: what its rows left in buffers goes to its files.
  Status finish_request();

  // Ok while the model's files are what was loaded.
  Status check_weights() { return watch_->check(); }
  const std::string& fingerprint() const { return watch_->fingerprint(); }
  // Of the sidecar; empty where nothing is drafted from one.
  const std::string& draft_fingerprint() const { return watch_->draft_fingerprint(); }

  const StrataOptions& options() const { return options_; }
  const WeightSource& weights() const { return *weights_; }
  const Model& model() const { return *model_; }
  const Device& device() const { return *device_; }
  const TieredExperts& experts() const { return *experts_; }
  const FileBlobs& blobs() const { return *blobs_; }
  const MemoryAvailable& memory() const { return memory_; }             // before the load took any
  const std::optional<SlotsBudget>& budget() const { return budget_; }  // of --slots auto
  std::optional<uint64_t> kv_in_slots() const { return kv_in_slots_; }  // of --slots in bytes
  const std::string& rank_sha256() const { return rank_sha256_; }       // empty in index order
  int threads() const { return threads_->threads(); }
  // What became of the knobs of processors and memory, at the end of the load.
  const MachineState& machine() const { return machine_; }
  int depth() const { return depth_; }
  // What may be concluded from it: empty for real weights.
  std::string subject() const;
  uint64_t expert_scratch_bytes() const;
  uint64_t draft_expert_bytes() const {
    return draft_experts_ == nullptr ? 0 : draft_experts_->bytes();
  }
  uint64_t loaded_bytes() const { return loaded_bytes_; }
  double load_ms() const { return load_ms_; }

 private:
  explicit StrataEngine(const StrataOptions& options) : options_(options) {}
  Status load_all(const EngineProgress& progress);
  Status open();
  Status choose_depth();
  Status choose_kept();
  Status choose_in_place();
  Status check_assumed() const;
  Result<TieredOptions> tier_options();
  SlotsBudget slots_budget(const TieredOptions& tiers) const;
  uint64_t device_scratch(const TieredOptions& tiers) const;
  Status check_fits(const TieredOptions& tiers);
  Status check_gpu_fits(const TieredOptions& tiers);
  MakeDeviceTier device_tier();
  Status load_parts(const TieredOptions& tiers, const EngineProgress& progress);
  Status make_decoder();
  ModelOptions model_options() const;
  ExpertShape shape(int top_k, int rows) const;
  int max_rows() const;     // in a pass
  int expert_rows() const;  // for which a layer's experts run at once
  bool drafts() const { return depth_ > 0 && !options_.scripted(); }

  StrataOptions options_;
  ThreadPoolOptions pool_options_;
  MachineState machine_;
  int depth_ = 0;
  bool in_place_ = false;
  DraftExperts::Kept kept_drafts_;
  uint64_t loaded_bytes_ = 0;
  double load_ms_ = 0;
  MemoryAvailable memory_, device_memory_;  // the latter of a GPU
  std::optional<SlotsBudget> budget_;
  std::optional<uint64_t> kv_in_slots_;
  std::string rank_sha256_;
  std::vector<MemoryNeed> needs_;  // known from check_fits() on
  std::unique_ptr<WeightSource> weights_;
  std::unique_ptr<WeightWatch> watch_;
  std::unique_ptr<FileBlobs> blobs_, draft_blobs_;
  std::unique_ptr<ThreadPool> threads_;
  std::unique_ptr<Device> device_;  // before all that lies on it
  std::unique_ptr<Model> model_;
  std::unique_ptr<RouteLog> routes_;
  std::unique_ptr<TieredExperts> experts_;
  std::unique_ptr<DraftExperts> draft_experts_;
  std::unique_ptr<DraftOracle> oracle_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace rota
