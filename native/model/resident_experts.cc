// One expert at a time, one row at a time, in the router's order.
#include "model/resident_experts.h"

#include <algorithm>

#include "device/host/matvec.h"
#include "formats/numbers.h"

namespace rota {

ResidentExperts::ResidentExperts(const WeightSource& source, Which which, bool act_quant)
    : source_(source), which_(which), act_quant_(act_quant) {
  const Config& c = source.config();
  gate_.resize(static_cast<size_t>(c.moe_inter));
  up_.resize(static_cast<size_t>(c.moe_inter));
  down_.resize(static_cast<size_t>(c.dim));
}

Status ResidentExperts::run(int layer, int rows, int top_k, const int* ids, const float* weights,
                            const float* x, float* y) {
  const Config& c = source_.config();
  const size_t dim = static_cast<size_t>(c.dim), inter = static_cast<size_t>(c.moe_inter);
  std::fill_n(y, static_cast<size_t>(rows) * dim, 0.0f);
  for (int i = 0; i < rows * top_k; ++i) {
    const float* in = x + static_cast<size_t>(i / top_k) * dim;
    float* out = y + static_cast<size_t>(i / top_k) * dim;
    const ExpertBlob& blob = which_ == Which::kTarget ? source_.expert(layer, ids[i])
                                                      : source_.draft_expert(layer, ids[i]);
    joined_.clear();
    for (const FileSpan& span : blob.spans) {
      joined_.insert(joined_.end(), source_.mapped(span), source_.mapped(span) + span.bytes);
    }
    const auto part = [&](ExpertPart p) {
      return joined_.data() + blob.part_offset[static_cast<size_t>(p)];
    };
    matvec_rows(blob.format[0], part(ExpertPart::kGate), 0, inter, dim, in, dim, 1, gate_.data(),
                inter);
    matvec_rows(blob.format[1], part(ExpertPart::kUp), 0, inter, dim, in, dim, 1, up_.data(),
                inter);
    expert_swiglu(gate_.data(), up_.data(), inter, c.swiglu_limit, weights[i], gate_.data());
    if (act_quant_) fake_quant_fp8(gate_.data(), inter);
    matvec_rows(blob.format[2], part(ExpertPart::kDown), 0, dim, inter, gate_.data(), inter, 1,
                down_.data(), dim);
    for (size_t d = 0; d < dim; ++d) out[d] += down_[d];
  }
  return {};
}

}  // namespace rota
