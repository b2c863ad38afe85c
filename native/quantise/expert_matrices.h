// One expert as floats, and what it answers. Owns the order of its three products; knows no format
// but through decoding.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "model/config.h"
#include "model/weight_source.h"

namespace rota {

// Shape of all experts of a model.
struct ExpertShape {
  size_t dim, inter;
  float limit;  // of SwiGLU
  explicit ExpertShape(const Config& c)
      : dim(static_cast<size_t>(c.dim)),
        inter(static_cast<size_t>(c.moe_inter)),
        limit(c.swiglu_limit) {}
  size_t rows(size_t part) const { return part == 2 ? dim : inter; }
  size_t columns(size_t part) const { return part == 2 ? inter : dim; }
};

// Gate, up, down as they are stored: [rows, columns].
using ExpertMatrices = std::array<std::vector<float>, 3>;

// kLoad, naming layer, expert and part, when a weight is no finite number.
Result<ExpertMatrices> source_expert(const WeightSource& source, int layer, int expert);
// A blob of one format, as pack_rows() made its parts.
ExpertMatrices blob_expert(Format format, const std::vector<uint8_t>& blob,
                           const ExpertShape& shape);

// An expert ready to answer rows: its matrices turned for products.
class ExpertAnswer {
 public:
  ExpertAnswer(const ExpertMatrices& matrices, const ExpertShape& shape);
  // middle[rows, inter] of x[rows, dim]: weight * silu(gate x) * (up x), what enters down.
  std::vector<float> middle(const std::vector<float>& x, const float* weights, size_t rows) const;
  // [rows, dim]
  std::vector<float> down(const std::vector<float>& middle, size_t rows) const;

 private:
  ExpertShape shape_;
  ExpertMatrices turned_;  // [columns, rows]
};

}  // namespace rota
