// Expert after expert, its tokens in tiles: no two tiles of an expert share a row of y.
#include "quantise/layer_output.h"

#include <algorithm>

namespace rota {
namespace {

constexpr size_t kTile = 96;  // tokens of a task

void add_tile(const LayerInputs& inputs, const std::vector<RoutedToken>& tokens, size_t first,
              const ExpertAnswer& answer, std::vector<float>& y) {
  const size_t count = std::min(kTile, tokens.size() - first), dim = inputs.dim;
  std::vector<float> weights(count);
  for (size_t i = 0; i < count; ++i) weights[i] = tokens[first + i].weight;
  const std::vector<float> x = gathered(inputs, tokens, first, count, false);
  const std::vector<float> out = answer.down(answer.middle(x, weights.data(), count), count);
  for (size_t i = 0; i < count; ++i) {
    float* row = y.data() + tokens[first + i].token * dim;
    for (size_t d = 0; d < dim; ++d) row[d] += out[i * dim + d];
  }
}

}  // namespace

Result<std::vector<float>> routed_sum(const LayerInputs& inputs, const ExpertShape& shape,
                                      ThreadPool& pool,
                                      const std::function<Result<ExpertMatrices>(int)>& expert) {
  std::vector<float> y(inputs.tokens() * inputs.dim, 0.0f);
  for (size_t e = 0; e < inputs.fit.size(); ++e) {
    const std::vector<RoutedToken>* parts[] = {&inputs.fit[e], &inputs.measured[e]};
    if (parts[0]->empty() && parts[1]->empty()) continue;
    ROTA_ASSIGN_OR_RETURN(const ExpertMatrices matrices, expert(static_cast<int>(e)));
    const ExpertAnswer answer(matrices, shape);
    for (const std::vector<RoutedToken>* tokens : parts) {
      const size_t tiles = (tokens->size() + kTile - 1) / kTile;
      pool.run(static_cast<int>(tiles), [&](int tile) {
        add_tile(inputs, *tokens, static_cast<size_t>(tile) * kTile, answer, y);
      });
    }
  }
  return y;
}

double measured_energy(const LayerInputs& inputs, const std::vector<float>& y) {
  double sum = 0;
  for (size_t t = 0; t < inputs.tokens(); ++t) {
    if (inputs.held_out[t] == 0) continue;
    for (size_t d = 0; d < inputs.dim; ++d) {
      const double value = y[t * inputs.dim + d];
      sum += value * value;
    }
  }
  return sum;
}

}  // namespace rota
