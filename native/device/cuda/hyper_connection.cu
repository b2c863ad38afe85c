// The coefficients by a block a row, whose first warp balances the matrix; the streams element by
// element.
#include "device/cuda/hyper_connection.cuh"

#include "device/cuda/early_launch.cuh"
#include "device/cuda/reduce.cuh"
#include "device/cuda/sinkhorn.cuh"

namespace rota {
namespace {

constexpr int kThreads = 256;
constexpr int kNormThreads = 1024;

__global__ void coefficients_kernel(HcParams params, const float* h, int dim, const float* mix,
                                    const float* base, const float* scale, float* pre, float* post,
                                    float* comb) {
  take_turn();
  __shared__ float shared[kNormThreads / kWarp], z[kMostHcCopies * kMostHcCopies],
      sums[kMostHcCopies];
  const int n = params.mult, count = n * dim;
  const size_t row = blockIdx.x;
  const float* stream = h + row * static_cast<size_t>(count);
  float square = 0;
  const int fours = count % 4 == 0 ? count / 4 : 0;  // rows are then aligned to them
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < fours; i += kNormThreads) {
    const float4 v = reinterpret_cast<const float4*>(stream)[i];
    square = fmaf(v.w, v.w, fmaf(v.z, v.z, fmaf(v.y, v.y, fmaf(v.x, v.x, square))));
  }
  for (int i = 4 * fours + static_cast<int>(threadIdx.x); i < count; i += kNormThreads) {
    square = fmaf(stream[i], stream[i], square);
  }
  const float mean = block_sum<kNormThreads>(square, shared) / static_cast<float>(count);
  if (threadIdx.x < kWarp)
    put_coefficients(params, mean, mix + row * static_cast<size_t>(n * (n + 2)), base, scale, z,
                     sums, {pre, post, comb});
}

// blockIdx.x: row (its limit is no pass's); one thread a channel.
__device__ int channel() { return static_cast<int>(blockIdx.y * kThreads + threadIdx.x); }

__global__ void collapse_kernel(const float* h, const float* m, int mult, int dim, float* x) {
  take_turn();
  const int d = channel();
  if (d >= dim) return;
  const size_t row = blockIdx.x, width = static_cast<size_t>(dim);
  const float* copies = h + row * static_cast<size_t>(mult) * width + d;
  m += row * static_cast<size_t>(mult);
  float sum = m[0] * copies[0];
  for (int j = 1; j < mult; ++j) sum = fmaf(m[j], copies[static_cast<size_t>(j) * width], sum);
  x[row * width + static_cast<size_t>(d)] = sum;
}

// addend may be null.
__global__ void expand_kernel(float* h, const float* y, const float* addend, const float* post,
                              const float* comb, int mult, int dim) {
  take_turn();
  const int d = channel();
  if (d >= dim) return;
  const size_t row = blockIdx.x, width = static_cast<size_t>(dim), n = static_cast<size_t>(mult);
  float* copies = h + row * n * width + d;
  const size_t at = row * width + static_cast<size_t>(d);
  const float out = addend == nullptr ? y[at] : y[at] + addend[at];
  post += row * n;
  comb += row * n * n;
  float in[kMostHcCopies];
#pragma unroll
  for (int j = 0; j < kMostHcCopies; ++j) {
    in[j] = j < mult ? copies[static_cast<size_t>(j) * width] : 0.f;
  }
  for (int k = 0; k < mult; ++k) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kMostHcCopies; ++j) {
      if (j < mult) sum = fmaf(comb[j * mult + k], in[j], sum);
    }
    copies[static_cast<size_t>(k) * width] = fmaf(post[k], out, sum);
  }
}

__global__ void mean_kernel(const float* h, int mult, int dim, float* out, int out_stride) {
  take_turn();
  const int d = channel();
  if (d >= dim) return;
  const size_t row = blockIdx.x, width = static_cast<size_t>(dim);
  const float* copies = h + row * static_cast<size_t>(mult) * width + d;
  float sum = 0;
  for (int j = 0; j < mult; ++j) sum += copies[static_cast<size_t>(j) * width];
  out[row * static_cast<size_t>(out_stride) + static_cast<size_t>(d)] =
      sum / static_cast<float>(mult);
}

__global__ void copy_kernel(const float* x, int mult, int dim, float* h) {
  take_turn();
  const int d = channel();
  if (d >= dim) return;
  const size_t row = blockIdx.x, width = static_cast<size_t>(dim), n = static_cast<size_t>(mult);
  const float value = x[row * width + static_cast<size_t>(d)];
  for (size_t j = 0; j < n; ++j) h[(row * n + j) * width + static_cast<size_t>(d)] = value;
}

dim3 grid(int rows, int dim) {
  return {static_cast<unsigned>(rows), static_cast<unsigned>((dim + kThreads - 1) / kThreads)};
}

}  // namespace

void launch_hc_coefficients(LaunchQueue& queue, const HcParams& params, const float* h, int dim,
                            const float* mix, const float* base, const float* scale, int rows,
                            float* pre, float* post, float* comb) {
  if (rows == 0) return;
  launch_early(queue, coefficients_kernel, static_cast<unsigned>(rows), kNormThreads, 0, params, h,
               dim, mix, base, scale, pre, post, comb);
}

void launch_hc_collapse(LaunchQueue& queue, const float* h, const float* m, int rows, int mult,
                        int dim, float* x) {
  if (rows == 0) return;
  launch_early(queue, collapse_kernel, grid(rows, dim), kThreads, 0, h, m, mult, dim, x);
}

void launch_hc_expand(LaunchQueue& queue, float* h, const float* y, const float* addend,
                      const float* post, const float* comb, int rows, int mult, int dim) {
  if (rows == 0) return;
  launch_early(queue, expand_kernel, grid(rows, dim), kThreads, 0, h, y, addend, post, comb, mult,
               dim);
}

void launch_hc_mean(LaunchQueue& queue, const float* h, int rows, int mult, int dim, float* out,
                    int out_stride) {
  if (rows == 0) return;
  launch_early(queue, mean_kernel, grid(rows, dim), kThreads, 0, h, mult, dim, out, out_stride);
}

void launch_hc_copy(LaunchQueue& queue, const float* x, int rows, int mult, int dim, float* h) {
  if (rows == 0) return;
  launch_early(queue, copy_kernel, grid(rows, dim), kThreads, 0, x, mult, dim, h);
}

}  // namespace rota
