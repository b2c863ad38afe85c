// The kernels of a layer call: rows into integers, gate and up, down, the sum. Owns who computes
// which tile; how a block goes through its tiles is expert_stream.cuh's.
#pragma once

#include "device/cuda/early_launch.cuh"
#include "device/cuda/expert_integers.cuh"
#include "device/cuda/expert_plain.cuh"
#include "device/cuda/expert_stream.cuh"

namespace rota {

constexpr int kThreads = 32 * kWarps;

__device__ __forceinline__ float swiglu(float weight, float gate, float up, float limit) {
  gate = gate > limit ? limit : gate;
  up = up > limit ? limit : up < -limit ? -limit : up;
  return weight * (gate / (1.f + expf(-gate))) * up;
}

// Row `row` of n floats into integers, a warp a chunk.
template <bool kRound>
__device__ __forceinline__ void rows_to_integers(const float* rows, int row, int n,
                                                 const IntegerRows& out) {
  __shared__ __align__(16) int shared[kIntegerWarps][kChunk];
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int chunk = static_cast<int>(blockIdx.x) * kIntegerWarps + warp, chunks = n / kChunk;
  if (chunk >= chunks) return;
  const size_t at =
      static_cast<size_t>(row) * static_cast<size_t>(chunks) + static_cast<size_t>(chunk);
  put_chunk<kRound>(rows + at * kChunk, at, out, shared[warp]);
}

// x[rows, n]. Grid: chunks in blocks of kIntegerWarps, rows.
static __global__ void __launch_bounds__(32 * kIntegerWarps)
    integers_kernel(const float* x, int n, const IntegerRows out) {
  take_turn();
  rows_to_integers<false>(x, static_cast<int>(blockIdx.y), n, out);
}

// The pairs' hidden rows, each 32 rounded to e4m3 when asked. Grid: as above, pairs.
template <bool kRound>
static __global__ void __launch_bounds__(32 * kIntegerWarps)
    hidden_integers_kernel(const __grid_constant__ ExpertCall call, const float* hidden, int inter,
                           const IntegerRows out) {
  take_turn();
  rows_to_integers<kRound>(hidden, call.pair[blockIdx.y], inter, out);
}

// This lane's columns: of the pairs of a job, rows `row_of(pair)` of [.., k] activations.
template <int kTiles, typename RowOf>
__device__ __forceinline__ Columns<kTiles> columns_of(const ExpertCall& call,
                                                      const ExpertCallJob& job,
                                                      const IntegerRows& rows, int k,
                                                      const RowOf& row_of) {
  const auto first_chunk = [&](int p) {
    return row_of(call.pair[job.first + min(p, job.pairs - 1)]) * (k / kChunk);
  };
  Columns<kTiles> columns{rows};
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    columns.reads[n] = first_chunk(2 * n + columns.lane() / 16);
    columns.has[n] = first_chunk(2 * n + columns.lane() % 4 / 2);
  }
  return columns;
}

// A tile: a strip of gate and the same of up.
struct GateUpWork {
  const ExpertCall& call;
  const GateUpArgs& args;

  __device__ int jobs() const { return call.count; }
  __device__ int tiles_a_job() const { return args.inter / 16; }
  __device__ int pairs(const Tile& tile) const { return call.jobs[tile.job].pairs; }
  __device__ const ExpertCallMatrix& matrix(int job, int which) const {
    return which == 0 ? call.jobs[job].gate : call.jobs[job].up;
  }
  __device__ Strip strip(const Tile& tile, int which) const {
    return rota::strip(call.jobs[tile.job].blob, matrix(tile.job, which), tile.number);
  }
  template <int kTiles>
  __device__ Columns<kTiles> columns(const Tile& tile) const {
    return columns_of<kTiles>(call, call.jobs[tile.job], args.x, args.dim,
                              [this](int pair) { return pair / args.top_k; });
  }
  template <typename Sum>
  __device__ void finish(const Tile& tile, const Sum& sum) const {
    const ExpertCallJob& of = call.jobs[tile.job];
    for (int v = static_cast<int>(threadIdx.x % 32); v < 16 * of.pairs; v += 32) {
      const int p = v / 16, pair = call.pair[of.first + p];
      args.hidden[static_cast<size_t>(pair) * static_cast<size_t>(args.inter) +
                  static_cast<size_t>(16 * tile.number + v % 16)] =
          swiglu(call.weight[of.first + p], sum(0, p, v % 16), sum(1, p, v % 16), args.limit);
    }
  }
};

// A tile: two strips of down.
struct DownWork {
  const ExpertCall& call;
  const DownArgs& args;

  __device__ int jobs() const { return call.count; }
  __device__ int tiles_a_job() const { return args.dim / 32; }
  __device__ int pairs(const Tile& tile) const { return call.jobs[tile.job].pairs; }
  __device__ const ExpertCallMatrix& matrix(int job, int) const { return call.jobs[job].down; }
  __device__ Strip strip(const Tile& tile, int which) const {
    return rota::strip(call.jobs[tile.job].blob, matrix(tile.job, which), 2 * tile.number + which);
  }
  template <int kTiles>
  __device__ Columns<kTiles> columns(const Tile& tile) const {
    return columns_of<kTiles>(call, call.jobs[tile.job], args.hidden, args.inter,
                              [](int pair) { return pair; });
  }
  template <typename Sum>
  __device__ void finish(const Tile& tile, const Sum& sum) const {
    const ExpertCallJob& of = call.jobs[tile.job];
    for (int v = static_cast<int>(threadIdx.x % 32); v < 32 * of.pairs; v += 32) {
      const int p = v / 32, pair = call.pair[of.first + p];
      args.partial[static_cast<size_t>(pair) * static_cast<size_t>(args.dim) +
                   static_cast<size_t>(32 * tile.number + v % 32)] = sum(v % 32 / 16, p, v % 16);
    }
  }
};

// That a processor shall hold, which limits their registers.
template <int kTiles>
constexpr int kBlocks = kTiles == 8 ? 1 : 2;

// Of a call without plain matrices of the kind. As many blocks as the GPU holds at once, or fewer.
template <int kTiles>
static __global__ void __launch_bounds__(kThreads, kBlocks<kTiles>)
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
static __global__ void __launch_bounds__(kThreads, kBlocks<kTiles>)
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
    sum_kernel(const float* partial, const PairsElsewhere elsewhere, int dim, int top_k, float* y) {
  take_turn();
  const auto o = static_cast<size_t>(blockIdx.x * 128 + threadIdx.x);
  if (o >= static_cast<size_t>(dim)) return;
  const auto row = static_cast<size_t>(blockIdx.y), width = static_cast<size_t>(dim);
  float sum = 0;
  for (int k = 0; k < top_k; ++k) {
    const size_t pair = row * static_cast<size_t>(top_k) + static_cast<size_t>(k);
    if (elsewhere.dropped.has(pair)) continue;
    sum += (elsewhere.computed.has(pair) ? elsewhere.partial : partial)[pair * width + o];
  }
  y[row * width + o] = sum;
}

}  // namespace rota
