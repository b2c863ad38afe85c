// Routed experts from low-bit blobs in a GPU's memory: hidden = weight * silu(min(gate x, L)) *
// clamp(up x, -L, L), then down, a row's sum over its experts in the router's order. Owns the
// scratch between; knows no tier.
//
// A pair's (row, k) bits depend on that pair alone: not on the rows beside it, nor on how jobs are
// grouped into calls. Activations enter with 28 bits (expert_call.cuh), products and a block's sums
// are exact, sums of blocks are fp32 in one order.
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
// inter] at their offsets, each laid out if it can be (expert_layout.cuh).
struct CudaExpertJob {
  const uint8_t* blob = nullptr;  // on the device, 16-byte aligned
  Format gate = Format::kF32, up = Format::kF32, down = Format::kF32;
  uint64_t up_offset = 0, down_offset = 0;
  std::span<const int> pairs;  // row * top_k + k
};

struct ExpertScratch {
  IntegerRows x, hidden_integers;
  float *hidden = nullptr, *partial = nullptr;  // [pairs, inter], [pairs, dim]
};

class ExpertKernels {
 public:
  // The stream must outlive it.
  static Result<std::unique_ptr<ExpertKernels>> create(CudaStream& stream,
                                                       const CudaExpertShape& shape);
  ~ExpertKernels();
  static uint64_t scratch_bytes(const CudaExpertShape& shape);

  // Puts an expert's matrices into the kernels' order where they lie, and back. `on` is a stream of
  // the same GPU.
  void lay_out(cudaStream_t on, uint8_t* blob, const CudaExpertJob& expert);
  void take_out(cudaStream_t on, uint8_t* blob, const CudaExpertJob& expert);

  // A layer call, each part only put on the stream: begin, compute (several times), finish.
  // x[rows, dim] and y[rows, dim] on the device, weights[rows, top_k] on the host, read at once.
  void begin(const float* x, int rows);
  void compute(std::span<const CudaExpertJob> jobs, const float* weights);
  void finish(int rows, float* y, const PairsElsewhere& elsewhere = {});

  // partial[rows, top_k, dim]: a pair that was not computed here is written here before finish(),
  // or is one of its `elsewhere`.
  float* partial(int pair) const {
    return scratch_.partial + static_cast<size_t>(pair) * static_cast<size_t>(shape_.dim);
  }

 private:
  ExpertKernels(CudaStream& stream, const CudaExpertShape& shape)
      : stream_(stream), shape_(shape) {}
  bool gate_and_up_laid_out(const CudaExpertJob& expert) const;
  template <typename Order>
  void reorder(uint8_t* blob, const CudaExpertJob& expert, const Order& order);
  void prepare_x(bool words, bool digits);
  void launch(const ExpertCall& call, int pairs, int most_pairs, bool plain_gate, bool plain_down);

  CudaStream& stream_;
  CudaExpertShape shape_;
  // Of the call in progress: x, and which of its integers are there.
  const float* x_ = nullptr;
  int rows_ = 0;
  bool has_words_ = false, has_digits_ = false;
  int resident_[4] = {};  // blocks a processor holds of the kernels for 2, 4, 8 and 16 pairs
  void* memory_ = nullptr;
  ExpertScratch scratch_;
};

}  // namespace rota
