// The plainest placement: every routed expert straight from the mapping. For draft stages and as
// the reference that tiered placements are compared with. Owns no cache.
#pragma once

#include <vector>

#include "model/routed_experts.h"
#include "model/weight_source.h"

namespace rota {

class ResidentExperts final : public RoutedExperts {
 public:
  enum class Which { kTarget, kDraft };
  // The source must outlive this. act_quant rounds what enters the down projection.
  ResidentExperts(const WeightSource& source, Which which, bool act_quant);

  void begin_pass(PassKind, int) override {}
  const float* selection_bias(int) override { return nullptr; }
  void hint(int, int, int, const int*) override {}
  bool computes_on_host() const override { return true; }
  Status run(int layer, int rows, int top_k, const int* ids, const float* weights, const float* x,
             float* y) override;

 private:
  const WeightSource& source_;
  Which which_;
  bool act_quant_;
  std::vector<float> gate_, up_, down_;
  std::vector<uint8_t> joined_;  // a blob whose parts are not neighbours in the file
};

}  // namespace rota
