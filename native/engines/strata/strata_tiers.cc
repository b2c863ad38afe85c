// What the engine asks of the tiers: their sizes and order, and whether all of it fits into memory.
#include <algorithm>
#include <climits>

#include "device/cuda/cuda_device.h"
#include "engines/memory_guard.h"
#include "engines/strata/strata_engine.h"
#include "experts/cuda/cuda_tier.h"

namespace rota {

Status StrataEngine::choose_in_place() {
  const std::optional<bool>& asked = options_.arena_in_place;
  const uint64_t all = blobs_->total_bytes();
  const bool whole = options_.arena.of(all) >= all && options_.arena.limit() == INT_MAX;
  if (asked.value_or(false) && !whole) {
    return Status(Code::kUsage,
                  "--arena-in-place on: such an arena holds all experts: leave --arena out");
  }
  if (asked.value_or(false) && !blobs_->contiguous()) {
    return Status(Code::kUsage, "--arena-in-place on: " + options_.model +
                                    " has experts whose matrices lie apart");
  }
  in_place_ = asked.value_or(whole && blobs_->contiguous() && blobs_->on_tmpfs());
  return in_place_ ? blobs_->map_in_place() : Status();
}

Result<TieredOptions> StrataEngine::tier_options() {
  const StrataOptions& o = options_;
  TieredOptions tiers;
  const uint64_t all = blobs_->total_bytes();
  tiers.placement.in_place = in_place_;
  tiers.placement.arena_bytes = in_place_ ? 0 : o.arena.of(all);
  tiers.placement.max_arena = o.arena.limit();
  tiers.placement.pin_share = o.pin_share;
  tiers.placement.lru_window = o.lru_window;
  tiers.placement.pcie = o.pcie.share;
  tiers.placement.batch_pcie = o.batch_pcie.share;
  tiers.balance_pcie = o.pcie.machine;
  tiers.balance_batch_pcie = o.batch_pcie.machine;
  tiers.verify_rows = depth_ + 1;
  tiers.file_readers = o.file_readers;
  tiers.prefetch = o.prefetch;
  tiers.route_bias = static_cast<float>(o.route_bias);
  tiers.route_bias_file = static_cast<float>(o.route_bias_file);
  tiers.prompt_bias = static_cast<float>(o.prompt_bias);
  tiers.skip.miss = static_cast<float>(o.skip_miss);
  tiers.skip.file = static_cast<float>(o.skip_file);
  tiers.skip.renorm = o.renorm_skip;
  if (!o.rank_file.empty()) {
    const Config& config = weights_->config();
    auto file = read_ranking(o.rank_file, config.layers, config.experts);
    if (!file.ok()) return file.status().with_context("--rank");
    tiers.ranking = std::move(file.value().ranking);
    rank_sha256_ = file.value().sha256;
  }
  memory_ = limit_to_nodes(memory_available({o.memory_root, o.assume_memory}), o.machine);
  if (o.cuda) {
    device_memory_.bytes = cuda_free_bytes(*device_);
    device_memory_.limit = std::string(device_->name()) + " (its free memory)";
  }
  if (o.slots.kind == SizeValue::Kind::kAuto) {
    budget_ = slots_budget(tiers);
    tiers.placement.slots_bytes = budget_->slots();
  } else if (o.slots.kind == SizeValue::Kind::kBytes) {
    const uint64_t kv = model_bytes(weights_->config(), model_options()).kv;
    ROTA_ASSIGN_OR_RETURN(tiers.placement.slots_bytes, slots_in(o.slots.bytes, kv));
    if (o.slots.bytes > 0) kv_in_slots_ = kv;
  } else {
    tiers.placement.slots_bytes = o.slots.of(all);
  }
  tiers.placement.max_slots = o.slots.limit();
  return tiers;
}

// Staging as if the file tier were not empty, and every slot as if its blob ended inside a cache
// line: what is chosen then fits. Of a GPU's memory the arena is no part.
SlotsBudget StrataEngine::slots_budget(const TieredOptions& tiers) const {
  const Config& config = weights_->config();
  const ModelBytes model = model_bytes(config, model_options());
  TieredOptions none = tiers;
  none.placement.slots_bytes = none.placement.arena_bytes = 0;
  const auto experts = static_cast<uint64_t>(config.layers) * static_cast<uint64_t>(config.experts);
  SlotsBudget budget;
  budget.available = options_.cuda ? device_memory_.bytes : memory_.bytes;
  budget.limit = options_.cuda ? device_memory_.limit : memory_.limit;
  budget.program = options_.cuda ? 0 : kProgramBytes;
  budget.dense = weights_->totals().dense + weights_->totals().draft_dense;
  budget.draft = draft_blobs_ ? DraftExperts::memory_bytes(*draft_blobs_, kept_drafts_) : 0;
  budget.kv = model.kv;
  const ExpertShape target = shape(config.top_k, expert_rows());
  budget.scratch =
      model.buffers + experts * 64 +
      (options_.cuda ? device_scratch(none) : TieredExperts::memory_bytes(*blobs_, target, none));
  budget.margin = options_.margin.bytes;
  budget.experts = blobs_->total_bytes();
  if (options_.cuda) return budget;
  budget.arena = tiers.placement.arena_bytes;
  if (options_.arena.kind == SizeValue::Kind::kCount) {
    budget.arena = static_cast<uint64_t>(options_.arena.count) * largest_blob(*blobs_);
  }
  budget.arena = std::min(budget.arena, budget.experts);
  return budget;
}

// Of the tiers and the drafter's experts on a GPU, beside what they hold.
uint64_t StrataEngine::device_scratch(const TieredOptions& tiers) const {
  const Config& config = weights_->config();
  const ExpertShape target = shape(config.top_k, expert_rows());
  const uint64_t staged = TieredExperts::memory_parts(*blobs_, target, tiers).staged;
  uint64_t bytes = cuda_tier_scratch_bytes(target, staged);
  if (drafts()) {
    bytes += cuda_tier_scratch_bytes(shape(config.draft_top_k, config.draft_block), 0);
  }
  return bytes;
}

// A GPU's memory and the host's are two: each is counted for itself.
Status StrataEngine::check_gpu_fits(const TieredOptions& tiers) {
  const Config& config = weights_->config();
  const ModelBytes model = model_bytes(config, model_options());
  const TieredExperts::Memory parts =
      TieredExperts::memory_parts(*blobs_, shape(config.top_k, expert_rows()), tiers);
  const WeightSource::Totals& totals = weights_->totals();
  const uint64_t draft = draft_blobs_ ? DraftExperts::memory_bytes(*draft_blobs_, kept_drafts_) : 0;
  // What a load brings to the device at a time lies in RAM.
  const uint64_t bounce =
      parts.slots == 0 ? 0
                       : 2 * static_cast<uint64_t>(options_.file_readers) * largest_blob(*blobs_);
  ROTA_RETURN_IF_ERROR(
      check_memory({{"arena", "--arena", parts.arena},
                    {"staging and scratch", "--prompt-batch", parts.files + parts.pool + bounce}},
                   memory_));
  needs_ = {{"slots", "--slots", parts.slots},
            {"copies and scratch", "--prompt-batch", device_scratch(tiers)},
            {"dense weights", nullptr, totals.dense + totals.draft_dense},
            {"draft experts", "--depth", draft},
            {"activations", "--prompt-batch", model.buffers},
            {"context", "--ctx", model.kv}};
  return check_memory(needs_, device_memory_);
}

MakeDeviceTier StrataEngine::device_tier() {
  if (!options_.cuda) return make_ram_tier;
  return [this](const DeviceTierNeeds& needs) { return make_cuda_tier(*device_, needs); };
}

Status StrataEngine::check_fits(const TieredOptions& tiers) {
  if (options_.cuda) return check_gpu_fits(tiers);
  const Config& config = weights_->config();
  const ModelBytes model = model_bytes(config, model_options());
  const ExpertShape target = shape(config.top_k, expert_rows());
  // The tiers' parts one by one, so that the refusal names the knob: the rest is staging and
  // scratch.
  TieredOptions part = tiers;
  part.placement.arena_bytes = 0;
  const uint64_t without_arena = TieredExperts::memory_bytes(*blobs_, target, part);
  part.placement.slots_bytes = 0;
  const uint64_t staging = TieredExperts::memory_bytes(*blobs_, target, part);
  const uint64_t whole = TieredExperts::memory_bytes(*blobs_, target, tiers);
  const WeightSource::Totals& totals = weights_->totals();
  const uint64_t draft = draft_blobs_ ? DraftExperts::memory_bytes(*draft_blobs_, kept_drafts_) : 0;
  needs_ = {{"slots", "--slots", without_arena - std::min(without_arena, staging)},
            {"arena", "--arena", whole - std::min(whole, without_arena)},
            {"staging and scratch", "--prompt-batch", staging},
            {"dense weights", nullptr, totals.dense + totals.draft_dense},
            {"draft experts", "--depth", draft},
            {"activations", "--prompt-batch", model.buffers},
            {"context", "--ctx", model.kv}};
  return check_memory(needs_, memory_);
}

}  // namespace rota
