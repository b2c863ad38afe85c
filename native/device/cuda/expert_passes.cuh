// The kernels of a layer call: splitting rows, gate and up, down, the sum. Owns who computes which
// tile; how a block goes through its tiles is expert_stream.cuh's.
#pragma once

#include "device/cuda/expert_plain.cuh"
#include "device/cuda/expert_split.cuh"
#include "device/cuda/expert_stream.cuh"

namespace rota {

constexpr int kThreads = 32 * kWarps;

// Kernels follow each other at once (programmatic launch): one begins while the one before ends,
// and waits here before it touches what that one reads or writes.
__device__ __forceinline__ void wait_for_the_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_the_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ float swiglu(float weight, float gate, float up, float limit) {
  gate = gate > limit ? limit : gate;
  up = up > limit ? limit : up < -limit ? -limit : up;
  return weight * (gate / (1.f + expf(-gate))) * up;
}

// x[rows, n] into split rows.
static __global__ void __launch_bounds__(256)
    split_kernel(const float* x, int n, uint4* out, float* unscale) {
  __shared__ float largest[8];
  let_the_next_begin();
  wait_for_the_kernel_before();
  const auto row = static_cast<size_t>(blockIdx.x);
  split_row<false>(x + row * static_cast<size_t>(n), n, out + row * static_cast<size_t>(n / 4),
                   &unscale[row], largest);
}

// The pairs' hidden rows, each 32 rounded to e4m3 when asked, into split rows.
template <bool kRound>
static __global__ void __launch_bounds__(256)
    split_hidden_kernel(const __grid_constant__ ExpertCall call, GateUpArgs args) {
  __shared__ float largest[8];
  let_the_next_begin();
  wait_for_the_kernel_before();
  const auto pair = static_cast<size_t>(call.pair[blockIdx.x]);
  const auto n = static_cast<size_t>(args.inter);
  split_row<kRound>(args.hidden_floats + pair * n, args.inter, args.hidden + pair * (n / 4),
                    &args.hidden_unscale[pair], largest);
}

// This lane's columns: of the pairs of a job, rows `row_of(pair)` of [.., k] split activations.
template <int kTiles, typename RowOf>
__device__ __forceinline__ Columns<kTiles> columns_of(const ExpertCall& call,
                                                      const ExpertCallJob& job, const uint4* split,
                                                      int k, const RowOf& row_of) {
  const int lane = static_cast<int>(threadIdx.x % 32), column = lane / 4;
  Columns<kTiles> columns;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const int p = min(4 * n + column / 2, job.pairs - 1);
    const auto row = static_cast<size_t>(row_of(call.pair[job.first + p]));
    columns.at[n] =
        split + row * static_cast<size_t>(k / kSplitGroup * 8) + column % 2 * 4 + lane % 4;
  }
  return columns;
}

__device__ __forceinline__ bool plain_out(const ExpertCallJob& job) {
  return is_plain(static_cast<Format>(job.down.format));
}

// Hidden value i of a pair to where the down matrix will look for it.
__device__ __forceinline__ void put_hidden(const GateUpArgs& args, const ExpertCallJob& job,
                                           int pair, float weight, int i, float hidden) {
  const size_t row = static_cast<size_t>(pair) * static_cast<size_t>(args.inter);
  if (args.hidden == nullptr || plain_out(job)) {
    args.hidden_floats[row + static_cast<size_t>(i)] = hidden;
    return;
  }
  // Nothing is larger than this: silu(min(g, L)) is in [-0.28, L].
  const float bound = fabsf(weight) * args.limit * fmaxf(args.limit, 0.28f);
  float back;
  put_split(hidden * split_scale(bound, &back), i,
            reinterpret_cast<__half*>(args.hidden) + 2 * row);
  if (i == 0) args.hidden_unscale[pair] = back;
}

__device__ __forceinline__ Tile tile_of(const ExpertCall& call, int index, int a_job, int rows) {
  const int job = index / a_job;
  return {&call.jobs[job], (index - job * a_job) * rows};
}

// A tile: 16 rows of gate and the same of up.
struct GateUpWork {
  const ExpertCall& call;
  const GateUpArgs& args;

  __device__ int tiles() const { return call.count * (args.inter / 16); }
  __device__ Tile tile(int index) const { return tile_of(call, index, args.inter / 16, 16); }
  __device__ Stretch first(const Tile& tile) const {
    return stretch(tile.job->blob, tile.job->gate, tile.row);
  }
  __device__ Stretch second(const Tile& tile) const {
    return stretch(tile.job->blob, tile.job->up, tile.row);
  }
  __device__ int first_pieces(const Tile& tile) const { return tile.job->gate.pieces; }
  __device__ int pieces(const Tile& tile) const {
    return tile.job->gate.pieces + tile.job->up.pieces;
  }
  template <int kTiles>
  __device__ Columns<kTiles> columns(const Tile& tile) const {
    return columns_of<kTiles>(call, *tile.job, args.x, args.dim,
                              [this](int pair) { return pair / args.top_k; });
  }
  template <typename Sum>
  __device__ void finish(const Tile& tile, const Sum& sum) const {
    const ExpertCallJob& of = *tile.job;
    for (int v = static_cast<int>(threadIdx.x % 32); v < 16 * of.pairs; v += 32) {
      const int p = v / 16, pair = call.pair[of.first + p];
      const float weight = call.weight[of.first + p];
      const float unscale = args.x_unscale[pair / args.top_k];
      const float hidden =
          swiglu(weight, sum(0, p, v % 16) * unscale, sum(1, p, v % 16) * unscale, args.limit);
      put_hidden(args, of, pair, weight, tile.row + v % 16, hidden);
    }
  }
};

// A tile: 32 rows of down.
struct DownWork {
  const ExpertCall& call;
  const DownArgs& args;

  __device__ int tiles() const { return call.count * (args.dim / 32); }
  __device__ Tile tile(int index) const { return tile_of(call, index, args.dim / 32, 32); }
  __device__ Stretch first(const Tile& tile) const {
    return stretch(tile.job->blob, tile.job->down, tile.row);
  }
  __device__ Stretch second(const Tile& tile) const {
    return stretch(tile.job->blob, tile.job->down, tile.row + 16);
  }
  __device__ int first_pieces(const Tile& tile) const { return tile.job->down.pieces; }
  __device__ int pieces(const Tile& tile) const { return 2 * tile.job->down.pieces; }
  template <int kTiles>
  __device__ Columns<kTiles> columns(const Tile& tile) const {
    return columns_of<kTiles>(call, *tile.job, args.hidden, args.inter,
                              [](int pair) { return pair; });
  }
  template <typename Sum>
  __device__ void finish(const Tile& tile, const Sum& sum) const {
    const ExpertCallJob& of = *tile.job;
    for (int v = static_cast<int>(threadIdx.x % 32); v < 32 * of.pairs; v += 32) {
      const int p = v / 32, pair = call.pair[of.first + p];
      args.partial[static_cast<size_t>(pair) * static_cast<size_t>(args.dim) +
                   static_cast<size_t>(tile.row + v % 32)] =
          sum(v % 32 / 16, p, v % 16) * args.hidden_unscale[pair];
    }
  }
};

// Of a call without plain matrices of the kind. As many blocks as the GPU holds at once, or fewer.
template <int kTiles>
static __global__ void __launch_bounds__(kThreads, kTiles == 1 ? 2 : 1)
    gate_up_kernel(const __grid_constant__ ExpertCall call,
                   const __grid_constant__ GateUpArgs args) {
  extern __shared__ __align__(16) uint8_t shared[];
  let_the_next_begin();
  const GateUpWork work{call, args};
  TileStream<kTiles, GateUpWork> stream(work, shared);
  wait_for_the_kernel_before();
  stream.run();
}

template <int kTiles>
static __global__ void __launch_bounds__(kThreads, kTiles == 1 ? 2 : 1)
    down_kernel(const __grid_constant__ ExpertCall call, const __grid_constant__ DownArgs args) {
  extern __shared__ __align__(16) uint8_t shared[];
  let_the_next_begin();
  const DownWork work{call, args};
  TileStream<kTiles, DownWork> stream(work, shared);
  wait_for_the_kernel_before();
  stream.run();
}

// y[row] = sum of partial[row, k] for k ascending, from 0.
static __global__ void __launch_bounds__(128)
    sum_kernel(const float* partial, int dim, int top_k, float* y) {
  let_the_next_begin();
  wait_for_the_kernel_before();
  const auto o = static_cast<size_t>(blockIdx.x * 128 + threadIdx.x);
  if (o >= static_cast<size_t>(dim)) return;
  const auto row = static_cast<size_t>(blockIdx.y), width = static_cast<size_t>(dim);
  float sum = 0;
  for (int k = 0; k < top_k; ++k) {
    sum += partial[(row * static_cast<size_t>(top_k) + static_cast<size_t>(k)) * width + o];
  }
  y[row * width + o] = sum;
}

}  // namespace rota
