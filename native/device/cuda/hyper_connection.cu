// The coefficients by a block a row, whose first warp balances the matrix; the streams element by
// element.
#include "device/cuda/hyper_connection.cuh"

#include "device/cuda/reduce.cuh"

namespace rota {
namespace {

constexpr int kThreads = 256;
constexpr int kNormThreads = 1024;

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// z[n, n] in shared memory, by one warp: every line's sum is taken by one lane, in order.
struct Sinkhorn {
  float* z;     // shared, [n, n]
  float* sums;  // shared, [n]
  int n;
  float eps;

  // Adds up what stands `step` apart from line * line_step, then divides each element by its
  // line's.
  __device__ void normalise(int lane, int line_step, int step) {
    if (lane < n) {
      float sum = 0;
      for (int i = 0; i < n; ++i) sum += z[lane * line_step + i * step];
      sums[lane] = sum + eps;
    }
    __syncwarp();
    for (int i = lane; i < n * n; i += kWarp) z[i] /= sums[line_step == 1 ? i % n : i / n];
    __syncwarp();
  }
  __device__ void columns(int lane) { normalise(lane, 1, n); }
  __device__ void rows(int lane) { normalise(lane, n, 1); }

  __device__ void softmax_rows(int lane) {
    if (lane < n) {
      float* row = z + lane * n;
      float largest = row[0], sum = 0;
      for (int k = 1; k < n; ++k) largest = fmaxf(largest, row[k]);
      for (int k = 0; k < n; ++k) sum += row[k] = expf(row[k] - largest);
      for (int k = 0; k < n; ++k) row[k] = row[k] / sum + eps;
    }
    __syncwarp();
  }

  // Of a matrix of four: its entries stay in the registers of 16 lanes.
  __device__ void balance_four(int lane, int iters) {
    float value = lane < 16 ? z[lane] : 0.f;
    const auto divide = [&](int first, int step) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += __shfl_sync(kAllLanes, value, first + i * step);
      value /= sum + eps;
    };
    divide(lane % 4, 4);
    for (int i = 1; i < iters; ++i) {
      divide(lane / 4 * 4 % 16, 1);
      divide(lane % 4, 4);
    }
    if (lane < 16) z[lane] = value;
    __syncwarp();
  }

  __device__ void balance(int lane, int iters) {
    softmax_rows(lane);
    if (n == 4) return balance_four(lane, iters);
    columns(lane);
    for (int i = 1; i < iters; ++i) {
      rows(lane);
      columns(lane);
    }
  }
};

__global__ void coefficients_kernel(HcParams params, const float* h, int dim, const float* mix,
                                    const float* base, const float* scale, float* pre, float* post,
                                    float* comb) {
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
  if (threadIdx.x >= kWarp) return;
  const int lane = static_cast<int>(threadIdx.x);
  const float norm = 1.0f / sqrtf(mean + params.rms_eps);
  mix += row * static_cast<size_t>(n * (n + 2));
  if (lane < n) {
    const size_t at = row * static_cast<size_t>(n) + static_cast<size_t>(lane);
    pre[at] = sigmoid(mix[lane] * norm * scale[0] + base[lane]) + params.hc_eps;
    post[at] = 2.0f * sigmoid(mix[n + lane] * norm * scale[1] + base[n + lane]);
  }
  for (int i = lane; i < n * n; i += kWarp) {
    z[i] = mix[2 * n + i] * norm * scale[2] + base[2 * n + i];
  }
  __syncwarp();
  Sinkhorn{z, sums, n, params.hc_eps}.balance(lane, params.sinkhorn_iters);
  for (int i = lane; i < n * n; i += kWarp)
    comb[row * static_cast<size_t>(n * n) + static_cast<size_t>(i)] = z[i];
}

// blockIdx.x: row (its limit is no pass's); one thread a channel.
__device__ int channel() { return static_cast<int>(blockIdx.y * kThreads + threadIdx.x); }

__global__ void collapse_kernel(const float* h, const float* m, int mult, int dim, float* x) {
  const int d = channel();
  if (d >= dim) return;
  const size_t row = blockIdx.x, width = static_cast<size_t>(dim);
  const float* copies = h + row * static_cast<size_t>(mult) * width + d;
  m += row * static_cast<size_t>(mult);
  float sum = m[0] * copies[0];
  for (int j = 1; j < mult; ++j) sum = fmaf(m[j], copies[static_cast<size_t>(j) * width], sum);
  x[row * width + static_cast<size_t>(d)] = sum;
}

__global__ void expand_kernel(float* h, const float* y, const float* post, const float* comb,
                              int mult, int dim) {
  const int d = channel();
  if (d >= dim) return;
  const size_t row = blockIdx.x, width = static_cast<size_t>(dim), n = static_cast<size_t>(mult);
  float* copies = h + row * n * width + d;
  const float out = y[row * width + static_cast<size_t>(d)];
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

void launch_hc_coefficients(cudaStream_t stream, const HcParams& params, const float* h, int dim,
                            const float* mix, const float* base, const float* scale, int rows,
                            float* pre, float* post, float* comb) {
  if (rows == 0) return;
  coefficients_kernel<<<static_cast<unsigned>(rows), kNormThreads, 0, stream>>>(
      params, h, dim, mix, base, scale, pre, post, comb);
}

void launch_hc_collapse(cudaStream_t stream, const float* h, const float* m, int rows, int mult,
                        int dim, float* x) {
  if (rows == 0) return;
  collapse_kernel<<<grid(rows, dim), kThreads, 0, stream>>>(h, m, mult, dim, x);
}

void launch_hc_expand(cudaStream_t stream, float* h, const float* y, const float* post,
                      const float* comb, int rows, int mult, int dim) {
  if (rows == 0) return;
  expand_kernel<<<grid(rows, dim), kThreads, 0, stream>>>(h, y, post, comb, mult, dim);
}

void launch_hc_mean(cudaStream_t stream, const float* h, int rows, int mult, int dim, float* out,
                    int out_stride) {
  if (rows == 0) return;
  mean_kernel<<<grid(rows, dim), kThreads, 0, stream>>>(h, mult, dim, out, out_stride);
}

void launch_hc_copy(cudaStream_t stream, const float* x, int rows, int mult, int dim, float* h) {
  if (rows == 0) return;
  copy_kernel<<<grid(rows, dim), kThreads, 0, stream>>>(x, mult, dim, h);
}

}  // namespace rota
