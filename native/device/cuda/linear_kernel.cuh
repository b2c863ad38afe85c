// The matrix-vector kernel over a format's words. Device code alone.
#pragma once

#include "device/cuda/early_launch.cuh"
#include "device/cuda/linear_shape.cuh"
#include "device/cuda/reduce.cuh"
#include "device/cuda/weight_words.cuh"

namespace rota::gpu {

// Adds what four weights give to sums[kRows].
template <int kRows>
__device__ __forceinline__ void add_word(float4 w, const float* x, unsigned x_stride, int last_row,
                                         float* sums) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const unsigned row = static_cast<unsigned>(r < last_row ? r : last_row) * x_stride;
    const float4 v = *reinterpret_cast<const float4*>(x + row);
    sums[r] = fmaf(w.w, v.w, fmaf(w.z, v.z, fmaf(w.y, v.y, fmaf(w.x, v.x, sums[r]))));
  }
}

// A warp has kOutputs neighbouring outputs of one group and one slice of their stretches; kRows
// rows from blockIdx.y * kMostRowsAtOnce on, of which those behind the last compute it again.
template <typename Words, int kRows, int kOutputs, int kBlocks>
__global__ void __launch_bounds__(kLinearWarps* kWarp, kBlocks)
    linear_kernel(const LinearArgs args) {
  __shared__ float partial[kLinearWarps][kOutputs][kRows];
  let_the_next_begin();
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const int slice = warp % args.slices, sets = kLinearWarps / args.slices;
  const int first_row = static_cast<int>(blockIdx.y) * kMostRowsAtOnce;
  const int last_row = args.rows - first_row - 1;
  const int output = (static_cast<int>(blockIdx.x) * sets + warp / args.slices) * kOutputs;
  float sums[kOutputs][kRows] = {};
  const bool works = output < args.out;
  const uint8_t* row[kOutputs];
  Words words[kOutputs];
  const auto load = [&](int begin) {
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) words[o].load(row[o], begin, args.in, lane);
  };
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    // An output behind the last reads the last one's weights, and is not written.
    const int at = output + o < args.out ? output + o : args.out - 1;
    row[o] = args.w + static_cast<size_t>(at) * args.row_bytes;
  }
  if (works) load(slice * kStretch);  // weights are nobody's output: they need not wait
  wait_for_the_kernel_before();
  if (works) {
    const float* x =
        args.x + static_cast<size_t>(first_row) * args.x_stride +
        static_cast<size_t>(output / args.outputs_a_group) * static_cast<size_t>(args.in);
    const int step = args.slices * kStretch;
    for (int begin = slice * kStretch; begin < args.in; begin += step) {
      if (begin != slice * kStretch) load(begin);
#pragma unroll
      for (int q = 0; q < kWords; ++q) {
        const int at = begin + first_weight(lane, q);
        if (at >= args.in) continue;
#pragma unroll
        for (int o = 0; o < kOutputs; ++o) {
          add_word<kRows>(words[o].code(q), x + at, args.x_stride, last_row, sums[o]);
        }
      }
    }
  }
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float sum = warp_sum(sums[o][r]);
      if (lane == 0) partial[warp][o][r] = sum;
    }
  }
  __syncthreads();
  // The first warp of a set adds the slices' sums, a lane an (output, row).
  if (slice != 0) return;
  for (int i = lane; i < kOutputs * kRows; i += kWarp) {
    const int o = i / kRows, r = i % kRows;
    if (output + o >= args.out || r > last_row) continue;
    float sum = partial[warp][o][r];
    for (int s = 1; s < args.slices; ++s) sum += partial[warp + s][o][r];
    args.y[static_cast<size_t>(first_row + r) * static_cast<size_t>(args.out) +
           static_cast<size_t>(output + o)] = sum;
  }
}

// kBlocks: that a processor shall hold, which limits their registers.
template <typename Words, int kRows, int kOutputs, int kBlocks>
void launch_linear_kernel(LaunchQueue& queue, const LinearArgs& args) {
  const int a_block = kLinearWarps / args.slices * kOutputs;
  const dim3 blocks(static_cast<unsigned>((args.out + a_block - 1) / a_block),
                    static_cast<unsigned>((args.rows + kMostRowsAtOnce - 1) / kMostRowsAtOnce));
  launch_early(queue, linear_kernel<Words, kRows, kOutputs, kBlocks>, blocks, kLinearWarps * kWarp,
               0, args);
}

// By the rows that share a reading. Outputs of a warp share the activations, and must be of one
// group; how many they are is in no sum. Chosen by measuring on an H200.
template <typename Words>
void launch_rows(LaunchQueue& queue, const LinearArgs& args) {
  constexpr int kFewOutputs = 512, kManyOutputs = 16384;
  const int rows = args.rows;
  const bool fours = args.outputs_a_group % 4 == 0, pairs = args.outputs_a_group % 2 == 0;
  if (rows == 1) {
    if (fours && args.out >= kManyOutputs) return launch_linear_kernel<Words, 1, 4, 4>(queue, args);
    if (pairs && args.out > kFewOutputs) return launch_linear_kernel<Words, 1, 2, 4>(queue, args);
    return launch_linear_kernel<Words, 1, 1, 4>(queue, args);
  }
  if (!fours && rows <= 4) return launch_linear_kernel<Words, 4, 1, 3>(queue, args);
  if (!fours) return launch_linear_kernel<Words, kMostRowsAtOnce, 1, 1>(queue, args);
  if (rows == 2) return launch_linear_kernel<Words, 2, 4, 3>(queue, args);
  if (rows <= 4) return launch_linear_kernel<Words, 4, 4, 2>(queue, args);
  if (rows <= 6) return launch_linear_kernel<Words, 6, 4, 2>(queue, args);
  if (rows <= 8) return launch_linear_kernel<Words, 8, 4, 1>(queue, args);
  return launch_linear_kernel<Words, kMostRowsAtOnce, 4, 1>(queue, args);
}

}  // namespace rota::gpu
