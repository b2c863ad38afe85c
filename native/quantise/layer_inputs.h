// What the router gave the experts of one layer, over all text: the memory that calibration takes.
// Knows no weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota {

// A token as an expert sees it.
struct RoutedToken {
  uint32_t token;  // row of x
  float weight;    // the router's
};

struct LayerInputs {
  size_t dim = 0;
  std::vector<float> x;  // [tokens, dim]
  // [tokens] 1 where the token is only measured on.
  std::vector<uint8_t> held_out;
  // By expert, tokens ascending: those to fit on, those to measure on.
  std::vector<std::vector<RoutedToken>> fit, measured;

  LayerInputs(size_t width, size_t experts) : dim(width), fit(experts), measured(experts) {}
  void add(const float* rows_x, const int* ids, const float* weights, size_t rows, size_t top_k,
           bool is_held_out);
  size_t tokens() const { return held_out.size(); }
};

// Rows of x, each times its weight where `weighted`, beside each other.
std::vector<float> gathered(const LayerInputs& inputs, const std::vector<RoutedToken>& tokens,
                            size_t first, size_t count, bool weighted);

}  // namespace rota
