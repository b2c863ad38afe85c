// A grouped matrix times rows of activations on tensor cores, as near as in fp32. Device code
// alone.
#pragma once

#include "device/cuda/early_launch.cuh"
#include "device/cuda/linear_codes.cuh"
#include "device/cuda/linear_shape.cuh"
#include "device/cuda/reduce.cuh"

namespace rota::gpu {

inline constexpr int kBlocksAProcessor = 2;  // which limits their registers

// TF32 is a float with 10 bits behind its point, kept in a float's place. Every 8-bit code is one;
// an activation is the sum of two of them but for 2^-21 of it.
struct Tf32Pair {
  uint32_t high, low;
};
__device__ __forceinline__ Tf32Pair split(float x) {
  constexpr uint32_t kKept = 0xffffe000u;
  const uint32_t high = __float_as_uint(x) & kKept;
  return {high, __float_as_uint(x - __uint_as_float(high)) & kKept};
}

// sum[16, 8] += a[16, 8] b[8, 8], as mma.m16n8k8 has them over the lanes.
__device__ __forceinline__ void add_product(float (&sum)[4], const float4& a, uint32_t b0,
                                            uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(__float_as_uint(a.x)), "r"(__float_as_uint(a.y)), "r"(__float_as_uint(a.z)),
        "r"(__float_as_uint(a.w)), "r"(b0), "r"(b1));
}

// Up to two matrices over one x; blocks from first_blocks on are the second's.
struct TensorCall {
  LinearArgs of[2];
  unsigned first_blocks;
};

// A warp's outputs and its slice of their rows: every slices-th group, in halves (steps).
template <typename Codes>
struct TensorRows {
  const uint8_t *upper, *lower;  // rows lane / 4 and lane / 4 + 8 of the 16
  int slice, slices, t;
  int steps;  // of this slice

  __device__ __forceinline__ int step(int i) const { return 2 * (slice + i / 2 * slices) + i % 2; }
  __device__ __forceinline__ void load(int i, Codes (&codes)[2]) const {
    if (i >= steps) return;
    codes[0].load(upper, step(i), t);
    codes[1].load(lower, step(i), t);
  }
};

// Adds a step's products to sums[kTiles], kQ blocks side by side: their chains hide each other's
// latency. x: this lane's part of the step, of tile n at x_row[n].
template <int kTiles, int kQ, typename Codes>
__device__ __forceinline__ void add_step(const Codes (&codes)[2], const float* x,
                                         const unsigned (&x_row)[kTiles],
                                         float (&sums)[kTiles][4]) {
#pragma unroll
  for (int first = 0; first < kPieceWords; first += kQ) {
    float block[kQ][kTiles][4] = {};
#pragma unroll
    for (int s = 0; s < kPieces; ++s) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        float4 v[kQ];
#pragma unroll
        for (int q = 0; q < kQ; ++q) {
          v[q] = *reinterpret_cast<const float4*>(x + x_row[tile] + 64 * (first + q) + 16 * s);
        }
        // Low parts, then high ones; of each two of the four weights at a time.
#pragma unroll
        for (int phase = 0; phase < 4; ++phase) {
#pragma unroll
          for (int q = 0; q < kQ; ++q) {
            const float4 upper = codes[0].code(s, first + q), lower = codes[1].code(s, first + q);
            const bool high = phase / 2 == 1, end = phase % 2 == 1;
            const Tf32Pair x0 = split(end ? v[q].z : v[q].x), x1 = split(end ? v[q].w : v[q].y);
            const float4 a = end ? float4{upper.z, lower.z, upper.w, lower.w}
                                 : float4{upper.x, lower.x, upper.y, lower.y};
            add_product(block[q][tile], a, high ? x0.high : x0.low, high ? x1.high : x1.low);
          }
        }
      }
    }
#pragma unroll
    for (int q = 0; q < kQ; ++q) {
      const float upper = codes[0].scale(first + q), lower = codes[1].scale(first + q);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        sums[tile][0] = fmaf(upper, block[q][tile][0], sums[tile][0]);
        sums[tile][1] = fmaf(upper, block[q][tile][1], sums[tile][1]);
        sums[tile][2] = fmaf(lower, block[q][tile][2], sums[tile][2]);
        sums[tile][3] = fmaf(lower, block[q][tile][3], sums[tile][3]);
      }
    }
  }
}

// A warp has kTensorOutputs outputs of one group and one slice; kTiles times eight rows from
// blockIdx.y * 8 kTiles on, of which those behind the last compute it again.
template <typename Codes, int kTiles, int kQ>
__global__ void __launch_bounds__(kLinearWarps* kWarp, kBlocksAProcessor)
    tensor_kernel(const __grid_constant__ TensorCall call) {
  __shared__ float partial[kLinearWarps][8 * kTiles][kTensorOutputs];
  let_the_next_begin();
  const bool second = blockIdx.x >= call.first_blocks;
  const LinearArgs& args = call.of[second ? 1 : 0];
  const int block = static_cast<int>(second ? blockIdx.x - call.first_blocks : blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const int slice = warp % args.slices, sets = kLinearWarps / args.slices;
  const int first_row = static_cast<int>(blockIdx.y) * 8 * kTiles;
  const int last_row = args.rows - first_row - 1;
  const int output = (block * sets + warp / args.slices) * kTensorOutputs;
  const int upper = lane / 4, t = lane % 4;
  // An output behind the last reads the last one's weights, and is not written.
  const auto weights_of = [&](int at) {
    return args.w + static_cast<size_t>(min(output + at, args.out - 1)) * args.row_bytes;
  };
  const int groups = args.in / kGroupWeights;
  const TensorRows<Codes> rows{
      weights_of(upper),
      weights_of(upper + 8),
      slice,
      args.slices,
      t,
      output < args.out ? 2 * ((groups - slice + args.slices - 1) / args.slices) : 0};
  // Two steps are under way. Weights are nobody's output: the first need not wait.
  Codes codes[2][2];
  rows.load(0, codes[0]);
  rows.load(1, codes[1]);
  wait_for_the_kernel_before();
  const float* x =
      args.x + static_cast<size_t>(first_row) * args.x_stride +
      static_cast<size_t>(output / args.outputs_a_group) * static_cast<size_t>(args.in) + 4 * t;
  unsigned x_row[kTiles];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    x_row[tile] = static_cast<unsigned>(min(8 * tile + upper, last_row)) * args.x_stride;
  }
  float sums[kTiles][4] = {};
  for (int begin = 0; begin < rows.steps; begin += 2) {  // a whole group
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* x_step = x + rows.step(begin) / 2 * kGroupWeights + 32 * half;
      add_step<kTiles, kQ>(codes[half], x_step, x_row, sums);
      rows.load(begin + half + 2, codes[half]);
    }
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    float (*at)[kTensorOutputs] = &partial[warp][8 * tile + 2 * t];
    at[0][upper] = sums[tile][0], at[1][upper] = sums[tile][1];
    at[0][upper + 8] = sums[tile][2], at[1][upper + 8] = sums[tile][3];
  }
  __syncthreads();
  // The slices' sums are added in order, by all warps of a set.
  const int begin = slice * kWarp + lane, stride = args.slices * kWarp;
  for (int i = begin; i < 8 * kTiles * kTensorOutputs; i += stride) {
    const int row = i / kTensorOutputs, o = i % kTensorOutputs;
    if (output + o >= args.out || row > last_row) continue;
    float sum = partial[warp - slice][row][o];
    for (int s = 1; s < args.slices; ++s) sum += partial[warp - slice + s][row][o];
    args.y[static_cast<size_t>(first_row + row) * static_cast<size_t>(args.out) +
           static_cast<size_t>(output + o)] = sum;
  }
}

inline unsigned tensor_blocks(const LinearArgs& args) {
  const int a_block = kLinearWarps / args.slices * kTensorOutputs;
  return static_cast<unsigned>((args.out + a_block - 1) / a_block);
}

template <typename Codes, int kTiles, int kQ>
void launch_tiles(LaunchQueue& queue, const LinearArgs& first, const LinearArgs* second) {
  const TensorCall call{{first, second != nullptr ? *second : first}, tensor_blocks(first)};
  const dim3 blocks(call.first_blocks + (second != nullptr ? tensor_blocks(*second) : 0),
                    static_cast<unsigned>((first.rows + 8 * kTiles - 1) / (8 * kTiles)));
  launch_early(queue, tensor_kernel<Codes, kTiles, kQ>, blocks, kLinearWarps * kWarp, 0, call);
}

// By the rows that share a reading of the weights; how many they are is in no sum. Chosen by
// measuring on an H200.
template <typename Codes>
void launch_tensor(LaunchQueue& queue, const LinearArgs& first, const LinearArgs* second) {
  if (first.rows <= 8) return launch_tiles<Codes, 1, 4>(queue, first, second);
  if (first.rows <= 16) return launch_tiles<Codes, 2, 2>(queue, first, second);
  return launch_tiles<Codes, 4, 1>(queue, first, second);
}

}  // namespace rota::gpu
