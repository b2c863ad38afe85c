// Appends and gathers.
#include "quantise/layer_inputs.h"

namespace rota {

void LayerInputs::add(const float* rows_x, const int* ids, const float* weights, size_t rows,
                      size_t top_k, bool is_held_out) {
  x.insert(x.end(), rows_x, rows_x + rows * dim);
  for (size_t r = 0; r < rows; ++r) {
    const auto token = static_cast<uint32_t>(held_out.size());
    held_out.push_back(is_held_out ? 1 : 0);
    for (size_t k = 0; k < top_k; ++k) {
      const auto expert = static_cast<size_t>(ids[r * top_k + k]);
      (is_held_out ? measured : fit)[expert].push_back({token, weights[r * top_k + k]});
    }
  }
}

std::vector<float> gathered(const LayerInputs& inputs, const std::vector<RoutedToken>& tokens,
                            size_t first, size_t count, bool weighted) {
  std::vector<float> out(count * inputs.dim);
  for (size_t i = 0; i < count; ++i) {
    const RoutedToken& token = tokens[first + i];
    const float factor = weighted ? token.weight : 1.0f;
    const float* row = inputs.x.data() + token.token * inputs.dim;
    for (size_t d = 0; d < inputs.dim; ++d) out[i * inputs.dim + d] = factor * row[d];
  }
  return out;
}

}  // namespace rota
