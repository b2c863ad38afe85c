// Routed experts from low-bit blobs in a GPU's memory: hidden = weight * silu(min(gate x, L)) *
// clamp(up x, -L, L), then down, a row's sum over its experts in the router's order. Owns the
// scratch between; knows no tier.
//
// A pair's (row, k) bits depend on that pair alone: not on the rows beside it, nor on how jobs are
// grouped into calls. Activations enter with 22 bits (expert_call.cuh), products are exact, sums
// are fp32 in one order.
#pragma once

#include <memory>
#include <span>

#include "device/cuda/cuda_stream.cuh"
#include "device/cuda/expert_call.cuh"

namespace rota {

struct CudaExpertShape {
  int dim = 0, inter = 0;  // multiples of 32
  int max_rows = 0, top_k = 0;
  float limit = 10.f;
  bool act_quant = false;  // e4m3 rounding (blocks of 32) of what enters the down matrix
};

// One distinct expert. In its blob gate [inter, dim] comes first, up [inter, dim] and down [dim,
// inter] at their offsets.
struct CudaExpertJob {
  const uint8_t* blob = nullptr;  // on the device, 32-byte aligned, readable to the next 16 bytes
  Format gate = Format::kF32, up = Format::kF32, down = Format::kF32;
  uint64_t up_offset = 0, down_offset = 0;
  std::span<const int> pairs;  // row * top_k + k
};

class ExpertKernels {
 public:
  // The stream must outlive it.
  static Result<std::unique_ptr<ExpertKernels>> create(CudaStream& stream,
                                                       const CudaExpertShape& shape);
  ~ExpertKernels();
  static uint64_t scratch_bytes(const CudaExpertShape& shape);

  // A layer call, each part only put on the stream: begin, compute (several times), finish.
  // x[rows, dim] and y[rows, dim] on the device, weights[rows, top_k] on the host, read at once.
  void begin(const float* x, int rows);
  void compute(std::span<const CudaExpertJob> jobs, const float* weights);
  void finish(int rows, float* y);

  // partial[rows, top_k, dim]: a pair that is computed elsewhere, or dropped (zeros), is written
  // here before finish().
  float* partial(int pair) const {
    return partial_ + static_cast<size_t>(pair) * static_cast<size_t>(shape_.dim);
  }

 private:
  ExpertKernels(CudaStream& stream, const CudaExpertShape& shape)
      : stream_(stream), shape_(shape) {}
  // A bounded hidden value needs no look at the others before it is split.
  bool splits_at_once() const { return !shape_.act_quant && shape_.limit <= 256; }
  void launch(const ExpertCall& call, int pairs, int most_pairs, bool plain_gate, bool plain_down);

  CudaStream& stream_;
  CudaExpertShape shape_;
  const float* x_ = nullptr;  // of the call in progress
  int resident_[3] = {};      // blocks a processor holds of the kernels for 4, 8 and 16 pairs
  uint8_t* memory_ = nullptr;
  uint4 *x_split_ = nullptr, *hidden_split_ = nullptr;
  float *x_unscale_ = nullptr, *hidden_unscale_ = nullptr;
  float *hidden_ = nullptr, *partial_ = nullptr;
};

}  // namespace rota
