// Once-a-model tensors first, then layer by layer, each layer's experts behind its dense tensors.
#include "model/checkpoint_plan.h"

#include <map>

namespace rota {
namespace {

void add_dense(const CheckpointMatrix& matrix, const PlanFormats& formats,
               std::vector<PlannedMatrix>& plan) {
  if (matrix.role == Role::kEngramEmbed && !formats.engram_tables) return;
  PlannedMatrix planned;
  planned.name = matrix.model_name;
  planned.format = formats.dense ? formats.dense(matrix) : matrix.format;
  planned.ne = {matrix.columns};
  if (matrix.rows > 1) planned.ne.push_back(matrix.rows);
  planned.matrices = {&matrix};
  plan.push_back(std::move(planned));
}

// A layer's experts: a tensor of blobs for each format that one of them has, then the map.
void add_experts(const Checkpoint& checkpoint, const PlanFormats& formats, bool draft, int layer,
                 std::vector<PlannedMatrix>& plan) {
  const Config& c = checkpoint.config();
  const int count = draft ? c.draft_experts : c.experts;
  std::map<Format, PlannedMatrix> blobs;
  PlannedMatrix map = {
      expert_map_name(layer), Format::kI32, {2, static_cast<uint64_t>(count)}, {}, {}};
  for (int expert = 0; expert < count; ++expert) {
    const Format format = formats.expert ? formats.expert(draft, layer, expert) : Format::kMXFP4;
    PlannedMatrix& blob = blobs[format];
    map.map.push_back(static_cast<int32_t>(format));
    map.map.push_back(static_cast<int32_t>(blob.matrices.size() / 3));
    for (const ExpertPart part : {ExpertPart::kGate, ExpertPart::kUp, ExpertPart::kDown}) {
      blob.matrices.push_back(&checkpoint.expert(draft, layer, expert, part));
    }
  }
  const auto weights =
      uint64_t{3} * static_cast<uint64_t>(c.dim) * static_cast<uint64_t>(c.moe_inter);
  for (auto& [format, blob] : blobs) {
    blob.name = expert_blob_name(layer, format_info(format).name);
    blob.format = format;
    blob.ne = {weights, blob.matrices.size() / 3};
    plan.push_back(std::move(blob));
  }
  plan.push_back(std::move(map));
}

std::vector<PlannedMatrix> plan_file(const Checkpoint& checkpoint, const PlanFormats& formats,
                                     bool draft) {
  std::vector<PlannedMatrix> plan;
  const int layers = draft ? checkpoint.config().draft_stages : checkpoint.config().layers;
  for (int layer = -1; layer < layers; ++layer) {
    for (const CheckpointMatrix& matrix : checkpoint.dense(draft)) {
      if (matrix.layer == layer) add_dense(matrix, formats, plan);
    }
    if (layer >= 0) add_experts(checkpoint, formats, draft, layer, plan);
  }
  return plan;
}

}  // namespace

GgufPlan plan_gguf(const Checkpoint& checkpoint, const PlanFormats& formats) {
  GgufPlan plan;
  plan.model = plan_file(checkpoint, formats, false);
  if (checkpoint.has_draft()) plan.sidecar = plan_file(checkpoint, formats, true);
  return plan;
}

}  // namespace rota
