// Loading the strata engine: headers, the refusal of what does not fit, dense weights, experts.
#include "engines/strata/strata_engine.h"

#include <algorithm>

#include "base/clock.h"
#include "device/cuda/cuda_device.h"
#include "device/host/host_device.h"
#include "engines/refused_memory.h"

namespace rota {
namespace {

constexpr int kDefaultDepth = 5;

}  // namespace

Result<std::unique_ptr<StrataEngine>> StrataEngine::load(const StrataOptions& options,
                                                         const EngineProgress& progress) {
  const int64_t start = now_ns();
  std::unique_ptr<StrataEngine> engine(new StrataEngine(options));
  const Status loaded = catch_refusals([&] { return engine->load_all(progress); });
  if (!loaded.ok()) return explain_refusal(loaded, engine->needs_);
  engine->load_ms_ = static_cast<double>(now_ns() - start) * 1e-6;
  return engine;
}

Status StrataEngine::load_all(const EngineProgress& progress) {
  if (options_.cuda) {
    auto device = make_cuda_device(*options_.cuda);
    if (!device.ok()) return device.status().with_context("--device " + options_.device);
    device_ = std::move(device).value();
  }
  ROTA_ASSIGN_OR_RETURN(pool_options_, prepare_machine(options_.machine));
  ROTA_RETURN_IF_ERROR(open());
  ROTA_RETURN_IF_ERROR(choose_depth());
  ROTA_RETURN_IF_ERROR(check_assumed());
  ROTA_RETURN_IF_ERROR(choose_kept());
  ROTA_RETURN_IF_ERROR(choose_in_place());
  ROTA_ASSIGN_OR_RETURN(const TieredOptions tiers, tier_options());
  ROTA_RETURN_IF_ERROR(check_fits(tiers));
  ROTA_RETURN_IF_ERROR(load_parts(tiers, progress));
  ROTA_RETURN_IF_ERROR(make_decoder());
  threads_->place_caller();
  machine_ = machine_state(*threads_, experts_->memory());
  // What was read so far is believed from here on.
  watch_ = std::make_unique<WeightWatch>(*weights_);
  return watch_->check();
}

Status StrataEngine::open() {
  WeightSourceOptions source;
  source.draft_path = options_.draft;
  source.engram_path = options_.engram;
  // Without drafting the sidecar's weights would only take memory.
  source.want_draft = !options_.scripted() && options_.depth.value_or(1) > 0;
  ROTA_ASSIGN_OR_RETURN(weights_, WeightSource::open(options_.model, source));
  ROTA_ASSIGN_OR_RETURN(blobs_, FileBlobs::open(*weights_, FileBlobs::Half::kTarget));
  if (weights_->has_draft()) {
    ROTA_ASSIGN_OR_RETURN(draft_blobs_, FileBlobs::open(*weights_, FileBlobs::Half::kDraft));
  }
  return Status();
}

Status StrataEngine::choose_depth() {
  const bool scripted = options_.scripted();
  const int block = weights_->has_draft() ? weights_->config().draft_block : 0;
  if (!options_.depth) {
    depth_ = scripted ? kDefaultDepth : std::min(kDefaultDepth, block);
    return Status();
  }
  depth_ = *options_.depth;
  if (scripted || depth_ <= block) return Status();
  if (block > 0) {
    return Status(Code::kUsage, "--depth " + std::to_string(depth_) +
                                    ": this model's drafter drafts at most " +
                                    std::to_string(block));
  }
  return Status(Code::kLoad, "--depth " + std::to_string(depth_) +
                                 ": no DSpark sidecar: " + sidecar_path(options_.model) +
                                 " is not there; give --draft PATH or --depth 0");
}

// Of real weights an assumed acceptance would be taken for a measured one.
Status StrataEngine::check_assumed() const {
  if (!options_.assume_accept) return Status();
  if (weights_->config().synthetic.empty()) {
    return Status(Code::kUsage, "--assume-accept: " + options_.model +
                                    " does not say that it is synthetic; real weights have an "
                                    "acceptance of their own");
  }
  if (drafts()) return Status();
  return Status(
      Code::kUsage,
      "--assume-accept: nothing drafts here: it needs a DSpark sidecar, and not --depth 0");
}

std::string StrataEngine::subject() const {
  if (weights_->config().synthetic.empty()) return "";
  return std::string("synthetic subject: speed only") +
         (options_.assume_accept ? ", acceptance assumed" : "");
}

Status StrataEngine::choose_kept() {
  const std::string& file = options_.keep_file;
  const Config& config = weights_->config();
  if (file.empty() && options_.dump_draft_counts.empty()) return Status();
  if (!drafts()) {
    return Status(Code::kUsage, std::string(file.empty() ? "--dump-draft-counts" : "--keep") +
                                    ": nothing drafts here: it needs a DSpark sidecar, and neither "
                                    "--depth 0 nor --draft-oracle");
  }
  if (!file.empty()) {
    const auto counts = DraftCounts::read(file, config.draft_stages, config.draft_experts);
    if (!counts.ok()) return counts.status().with_context("--keep");
    auto kept = counts.value().heaviest(options_.keep, config.draft_top_k);
    if (!kept.ok()) {
      return kept.status().with_context("--keep " + file + ":" + std::to_string(options_.keep));
    }
    kept_drafts_ = std::move(kept).value();
  }
  // Known to be writable before a model is loaded. After the read: it may be the same file.
  if (options_.dump_draft_counts.empty()) return Status();
  const DraftCounts none(config.draft_stages, config.draft_experts);
  const Status written = none.write(options_.dump_draft_counts);
  return written.ok() ? written : Status(Code::kUsage, "--dump-draft-counts " + written.message());
}

Status StrataEngine::finish_request() {
  if (routes_ != nullptr) ROTA_RETURN_IF_ERROR(routes_->flush());
  if (options_.dump_draft_counts.empty()) return Status();
  return draft_experts_->counts()
      .write(options_.dump_draft_counts)
      .with_context("--dump-draft-counts");
}

uint64_t StrataEngine::expert_scratch_bytes() const {
  return ExpertPool::scratch_bytes(shape(weights_->config().top_k, expert_rows()));
}

int StrataEngine::expert_rows() const {
  const int step = options_.step_max == 0 ? max_rows() : options_.step_max;
  return std::min(max_rows(), std::max(step, depth_ + 1));
}

int StrataEngine::max_rows() const { return std::max(options_.prompt_batch, depth_ + 1); }

ModelOptions StrataEngine::model_options() const {
  ModelOptions model;
  model.ctx = options_.ctx;
  model.max_rows = max_rows();
  model.expert_step = options_.step_max;
  model.max_logit_rows = std::max(model.max_logit_rows, depth_ + 1);
  model.kv = options_.kv;
  model.kv_quant = options_.kv_quant;
  model.act_quant = options_.act_quant;
  return model;
}

ExpertShape StrataEngine::shape(int top_k, int rows) const {
  const Config& config = weights_->config();
  ExpertShape shape;
  shape.dim = config.dim;
  shape.moe_inter = config.moe_inter;
  shape.max_rows = rows;
  shape.top_k = top_k;
  shape.swiglu_limit = config.swiglu_limit;
  shape.act_quant = options_.act_quant;
  return shape;
}

Status StrataEngine::load_parts(const TieredOptions& tiers, const EngineProgress& progress) {
  const Config& config = weights_->config();
  const WeightSource::Totals& totals = weights_->totals();
  const uint64_t dense = totals.dense + totals.draft_dense;
  const uint64_t draft = draft_blobs_ ? DraftExperts::load_bytes(*draft_blobs_, kept_drafts_) : 0;
  const uint64_t total = dense + draft + TieredExperts::load_bytes(*blobs_, tiers);
  const Status stopped(Code::kCancelled, "the load was stopped");
  if (!progress(0, total)) return stopped;

  threads_ = std::make_unique<ThreadPool>(pool_options_);
  if (device_ == nullptr) device_ = make_host_device(threads_.get());
  ROTA_ASSIGN_OR_RETURN(model_, Model::load(*weights_, *device_, model_options()));
  loaded_bytes_ = dense;
  if (!progress(loaded_bytes_, total)) return stopped;
  if (drafts()) {
    const ExpertShape draft_shape = shape(config.draft_top_k, config.draft_block);
    ROTA_ASSIGN_OR_RETURN(draft_experts_, DraftExperts::load(*draft_blobs_, *threads_, draft_shape,
                                                             kept_drafts_, device_tier()));
    loaded_bytes_ += draft;
    if (!progress(loaded_bytes_, total)) return stopped;
  }
  uint64_t expert_bytes = 0;
  ROTA_ASSIGN_OR_RETURN(experts_, TieredExperts::load(
                                      *blobs_, *threads_, shape(config.top_k, expert_rows()), tiers,
                                      [&](uint64_t bytes) {
                                        expert_bytes = bytes;
                                        return progress(loaded_bytes_ + bytes, total);
                                      },
                                      device_tier()));
  loaded_bytes_ += expert_bytes;
  blobs_->seal_in_place();
  return Status();
}

// It starts threads that read; they should not all share the core of this one.
Status StrataEngine::reset() {
  if (draft_experts_ != nullptr) draft_experts_->reset();
  threads_->release_caller();
  const Status status = experts_->reset();
  threads_->place_caller();
  return status;
}

Status StrataEngine::make_decoder() {
  if (!options_.ledger.empty()) {
    ROTA_ASSIGN_OR_RETURN(ledger_, Ledger::open(options_.ledger));
  }
  if (!options_.dump_routes.empty()) {
    const Config& config = weights_->config();
    ROTA_ASSIGN_OR_RETURN(routes_, RouteLog::open(options_.dump_routes,
                                                  {config.layers, config.experts, config.top_k}));
    experts_->log_routes(routes_.get());
  }
  if (!options_.draft_oracle.empty()) {
    auto oracle =
        DraftOracle::read(options_.draft_oracle, options_.draft_corrupt, weights_->config().vocab);
    if (!oracle.ok()) return oracle.status().with_context("--draft-oracle");
    oracle_ = std::make_unique<DraftOracle>(std::move(oracle).value());
  }
  DecoderParts parts;
  parts.model = model_.get();
  parts.experts = experts_.get();
  parts.draft_experts = draft_experts_.get();
  parts.oracle = oracle_.get();
  parts.ledger = ledger_.get();
  DecoderOptions decoder;
  decoder.depth = depth_;
  decoder.confidence = options_.confidence;
  decoder.prompt_batch = options_.prompt_batch;
  decoder.accept = options_.draft_accept;
  decoder.assume_accept = options_.assume_accept;
  decoder_ = std::make_unique<Decoder>(parts, decoder);
  return Status();
}

}  // namespace rota
