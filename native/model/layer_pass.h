// The target model one layer at a time, over stretches of text that each begin a sequence: for who
// must see all of them at a layer before the next one runs. Owns one layer's dense weights and the
// caches of one stretch; what crosses layers is the caller's to keep. The arithmetic is
// sublayers.h's, bit for bit that of Model::forward over the stretch in one pass.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "model/core.h"

namespace rota {

class LayerPass {
 public:
  struct Options {
    int rows = 0;        // of the longest stretch
    int logit_rows = 1;  // most rows whose logits logits() gives
    MatrixForm as;       // how dense matrices are computed with
  };
  // Source and device must outlive this.
  static Result<std::unique_ptr<LayerPass>> load(WeightSource& source, Device& device,
                                                 const Options& options);

  const Config& config() const { return core_.config; }
  // Bytes of one stretch between two layers, and in the middle of one: stream, selection,
  // compressed keys.
  size_t carried_bytes() const;

  // What enters layer 0. kBadRequest: too many tokens, or one that the model cannot read.
  Status begin(std::span<const int> tokens, uint8_t* carried);

  // Takes this layer's weights in place of the last one's.
  Status enter(int layer);
  // The router's answer, on the host until the next call.
  struct Routed {
    const float* x;        // [rows, dim], what every expert is given
    const int* ids;        // [rows, top_k]
    const float* weights;  // [rows, top_k]
  };
  // The layer entered, up to its experts: reads and writes `carried`.
  Result<Routed> attend(std::span<const int> tokens, uint8_t* carried);
  // The rest of it: y[rows, dim] is the sum of the routed experts.
  void finish(int rows, const float* y, uint8_t* carried);

  // Logits [rows - first_row, vocab] behind the last layer, on the host until the next call.
  const float* logits(int rows, int first_row, const uint8_t* carried);

 private:
  LayerPass(WeightSource& source, Device& device, const ModelOptions& options, MatrixForm as)
      : core_(source, device, options), as_(as) {}
  template <typename Visit>
  void for_each_carried(bool middle, const Visit& visit);
  void restore(bool middle, const uint8_t* carried);
  void save(bool middle, uint8_t* carried);

  Core core_;
  MatrixForm as_;
  std::optional<DeviceMemory> layer_memory_;
  int layer_ = -1;
  std::vector<float> x_;  // [rows, dim]
};

}  // namespace rota
