// Decoding, turning, multiplying.
#include "quantise/expert_matrices.h"

#include <cmath>
#include <string>

#include "device/host/matvec.h"
#include "quantise/product.h"

namespace rota {
namespace {

std::vector<float> turned(const std::vector<float>& m, size_t rows, size_t columns) {
  std::vector<float> out(m.size());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) out[c * rows + r] = m[r * columns + c];
  }
  return out;
}

bool all_finite(const std::vector<float>& values) {
  for (const float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

Result<ExpertMatrices> source_expert(const WeightSource& source, int layer, int expert) {
  static constexpr const char* kParts[] = {"gate", "up", "down"};
  const ExpertShape shape(source.config());
  const ExpertBlob& blob = source.expert(layer, expert);
  std::vector<uint8_t> joined;
  joined.reserve(blob.bytes);
  for (const FileSpan& span : blob.spans) {
    joined.insert(joined.end(), source.mapped(span), source.mapped(span) + span.bytes);
  }
  ExpertMatrices out;
  for (size_t part = 0; part < 3; ++part) {
    out[part].resize(shape.dim * shape.inter);
    decode_row(blob.format[part], joined.data() + blob.part_offset[part], out[part].data(),
               out[part].size());
    if (all_finite(out[part])) continue;
    return Status(Code::kLoad, source.files()[static_cast<size_t>(blob.spans[0].file)] +
                                   ": layer " + std::to_string(layer) + ", expert " +
                                   std::to_string(expert) + ": " + kParts[part] +
                                   " holds a weight that is no number: the file is damaged");
  }
  return out;
}

ExpertMatrices blob_expert(Format format, const std::vector<uint8_t>& blob,
                           const ExpertShape& shape) {
  ExpertMatrices out;
  const size_t weights = shape.dim * shape.inter;
  for (size_t part = 0; part < 3; ++part) {
    out[part].resize(weights);
    decode_row(format, blob.data() + part * (blob.size() / 3), out[part].data(), weights);
  }
  return out;
}

ExpertAnswer::ExpertAnswer(const ExpertMatrices& m, const ExpertShape& shape) : shape_(shape) {
  for (size_t part = 0; part < 3; ++part) {
    turned_[part] = turned(m[part], shape.rows(part), shape.columns(part));
  }
}

std::vector<float> ExpertAnswer::middle(const std::vector<float>& x, const float* weights,
                                        size_t rows) const {
  const size_t dim = shape_.dim, inter = shape_.inter;
  std::vector<float> gate(rows * inter, 0.0f), up(rows * inter, 0.0f);
  add_product(rows, inter, dim, {x.data(), dim, 1}, turned_[0].data(), inter, gate.data(), inter);
  add_product(rows, inter, dim, {x.data(), dim, 1}, turned_[1].data(), inter, up.data(), inter);
  for (size_t r = 0; r < rows; ++r) {
    float* row = gate.data() + r * inter;
    expert_swiglu(row, up.data() + r * inter, inter, shape_.limit, weights[r], row);
  }
  return gate;
}

std::vector<float> ExpertAnswer::down(const std::vector<float>& middle, size_t rows) const {
  std::vector<float> y(rows * shape_.dim, 0.0f);
  add_product(rows, shape_.dim, shape_.inter, {middle.data(), shape_.inter, 1}, turned_[2].data(),
              shape_.dim, y.data(), shape_.dim);
  return y;
}

}  // namespace rota
