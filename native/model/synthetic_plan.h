// What a synthetic GGUF will hold, tensor by tensor, before a byte is written. Private to the
// synthetic model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "formats/block.h"
#include "model/config.h"
#include "model/family.h"
#include "model/router_skew.h"

namespace rota {

struct ExpertFormats {
  bool mixed = false;
  Format format = Format::kF32;  // when not mixed
};

struct PlanOptions {
  uint64_t seed = 1;
  bool sidecar = false;
  bool harsh = false;
  Family family = Family::kOurs;
  bool grid = false;
  bool random = false;  // random blocks in place of encoded weights, wherever rows are blocks
  bool engram_tables = true;
  Format dense = Format::kF32;
  Format engram = Format::kF32;
  ExpertFormats experts;
  const RouterSkew* skew = nullptr;  // of the target's routers; nullptr: biases are drawn
};

// out = weights first .. first + weights - 1 in the tensor's format, whole blocks. Of nothing but
// its arguments, and called from many threads at once.
using FillWeights = std::function<void(uint64_t first, uint64_t weights, uint8_t* out)>;

struct PlannedTensor {
  std::string name;
  Format format;
  std::vector<uint64_t> ne;
  uint64_t stride;  // weights that are made at a time: fill() is asked for multiples of it alone
  FillWeights fill;

  uint64_t weights() const;
};

// All tensors of the model or, with options.sidecar, of its DSpark sidecar, in file order.
std::vector<PlannedTensor> plan_tensors(const Config& config, const PlanOptions& options);

uint64_t planned_weights(const std::vector<PlannedTensor>& plan);

}  // namespace rota
