// The Model over a Core. Owns where the sequence stands and what of it may be forgotten; arithmetic
// is in sublayers.h.
#pragma once

#include <span>

#include "model/core.h"

namespace rota {

class DeepSeekModel final : public Model {
 public:
  DeepSeekModel(WeightSource& source, Device& device, const ModelOptions& options)
      : core_(source, device, options) {}
  // Once, before anything else.
  Status prepare();

  const Config& config() const override { return core_.config; }
  const ModelOptions& options() const override { return core_.options; }
  bool can_draft() const override { return core_.config.draft_stages > 0; }

  Status forward(std::span<const int> tokens, PassKind kind, RoutedExperts& experts,
                 int first_logit_row) override;
  const float* logits(int row) const override;
  int best(int row) const override;
  const float* draft_logits(int count) const override;
  int position() const override { return position_; }
  Status truncate(int position) override;
  Status commit_draft_context(int rows) override;
  Status draft(int next_token, int depth, RoutedExperts& draft_experts, DraftPicker* picker,
               DraftOut* out) override;

  const ModelCounters& counters() const override { return core_.counters; }
  size_t kv_bytes() const override { return core_.cache_memory.bytes(); }
  size_t dense_bytes() const override { return core_.weight_memory.bytes(); }
  size_t engram_bytes() const override { return core_.source.totals().engram; }

  // Caches and buffers, for tests that look inside.
  const Core& core() const { return core_; }

 private:
  int logit_row(int row) const;  // of buffers.logits
  Status check_request(std::span<const int> tokens, int first_logit_row) const;
  Status run_layer(int layer, int first, int rows, RoutedExperts& experts);

  Core core_;
  int position_ = 0;
  int draft_position_ = 0;
  int first_logit_row_ = 0;
};

}  // namespace rota
