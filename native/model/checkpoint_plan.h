// What the GGUF of a checkpoint and its DSpark sidecar hold, tensor by tensor, before a byte is
// written: names, formats, shapes, and whose rows. Pure; whoever encodes decides the formats.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "formats/block.h"
#include "model/checkpoint.h"

namespace rota {

struct PlannedMatrix {
  std::string name;
  Format format = Format::kF32;
  std::vector<uint64_t> ne;
  // The rows of these, one matrix behind the other.
  std::vector<const CheckpointMatrix*> matrices;
  // Of a layer's expert map, which has no matrices: (format, index) of each expert.
  std::vector<int32_t> map;
};

struct GgufPlan {
  std::vector<PlannedMatrix> model, sidecar;  // sidecar: empty without draft stages
};

struct PlanFormats {
  // Of a dense matrix; its rows must be whole blocks of it. Unset: matrix.format, without loss.
  std::function<Format(const CheckpointMatrix& matrix)> dense;
  // Of all three matrices of an expert. Unset: MXFP4, without loss.
  std::function<Format(bool draft, int layer, int expert)> expert;
  bool engram_tables = true;  // false: without them, for tables of extract-engram
};

// The matrices are those of `checkpoint`, which outlives the plan.
GgufPlan plan_gguf(const Checkpoint& checkpoint, const PlanFormats& formats);

}  // namespace rota
