// Of a chunk of channels a block takes all four copies: their part of the mix, of the squares and x
// before its norm. Then a block a row adds up the parts in order.
#include "device/cuda/hc_enter.cuh"

#include "device/cuda/early_launch.cuh"
#include "device/cuda/reduce.cuh"
#include "device/cuda/sinkhorn.cuh"

namespace rota {
namespace {

constexpr int kMult = 4, kOutputs = (kMult + 2) * kMult;
constexpr int kChunk = 4 * kWarp;  // channels: four a lane
constexpr int kWarps = 8, kOutputsAWarp = kOutputs / kWarps;
constexpr int kRowsABand = 8;  // that share a reading of the matrix
// Of a part: the mix, the stream's squares, those of x.
constexpr int kSums = kOutputs + 2;
constexpr int kEnterThreads = 1024, kMostFours = 2;  // float4 of x that a thread has

__device__ float dot(const float4& a, const float4& b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

// blockIdx: x chunk, y band of rows. x [rows, dim]; parts [rows, chunks, kSums].
__global__ void __launch_bounds__(kWarps* kWarp)
    parts_kernel(const float* h, int dim, const float* fn, const float* collapse, int rows,
                 float* x, float* parts) {
  let_the_next_begin();
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const size_t width = static_cast<size_t>(dim);
  const size_t channel = static_cast<size_t>(blockIdx.x) * kChunk + static_cast<size_t>(4 * lane);
  const auto four = [](const float* at) { return *reinterpret_cast<const float4*>(at); };
  float4 w[kOutputsAWarp][kMult];
#pragma unroll
  for (int o = 0; o < kOutputsAWarp; ++o) {
    const size_t output = static_cast<size_t>(warp * kOutputsAWarp + o);
#pragma unroll
    for (int j = 0; j < kMult; ++j) w[o][j] = four(fn + (output * kMult + j) * width + channel);
  }
  wait_for_the_kernel_before();
  const int first = static_cast<int>(blockIdx.y) * kRowsABand, end = min(rows, first + kRowsABand);
#pragma unroll 2
  for (int r = first; r < end; ++r) {
    const size_t row = static_cast<size_t>(r);
    float* sums = parts + (row * gridDim.x + blockIdx.x) * kSums;
    float4 v[kMult];
#pragma unroll
    for (int j = 0; j < kMult; ++j) v[j] = four(h + (row * kMult + j) * width + channel);
#pragma unroll
    for (int o = 0; o < kOutputsAWarp; ++o) {
      float sum = 0;
#pragma unroll
      for (int j = 0; j < kMult; ++j) sum = dot(w[o][j], v[j], sum);
      sum = warp_sum(sum);
      if (lane == 0) sums[warp * kOutputsAWarp + o] = sum;
    }
    if (warp != r % kWarps) continue;
    float4 own{};
    float square = 0;
#pragma unroll
    for (int j = 0; j < kMult; ++j) {
      const float m = collapse[row * kMult + j];
      own = {fmaf(m, v[j].x, own.x), fmaf(m, v[j].y, own.y), fmaf(m, v[j].z, own.z),
             fmaf(m, v[j].w, own.w)};
      square = dot(v[j], v[j], square);
    }
    *reinterpret_cast<float4*>(x + row * width + channel) = own;
    square = warp_sum(square);
    const float own_square = warp_sum(dot(own, own, 0));
    if (lane == 0) sums[kOutputs] = square, sums[kOutputs + 1] = own_square;
  }
}

// A block a row. x is normed in place.
__global__ void __launch_bounds__(kEnterThreads)
    enter_kernel(HcParams params, int dim, int chunks, const float* parts, const float* base,
                 const float* scale, const float* norm_weight, Coefficients out, float* x) {
  __shared__ float totals[kSums], z[kMult * kMult], sums[kMult];
  take_turn();
  const size_t row = blockIdx.x;
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp, fours = dim / 4;
  auto* at = reinterpret_cast<float4*>(x + row * static_cast<size_t>(dim));
  float4 v[kMostFours];
#pragma unroll
  for (int i = 0; i < kMostFours; ++i) {
    const int four = static_cast<int>(threadIdx.x) + i * kEnterThreads;
    if (four < fours) v[i] = at[four];
  }
  parts += row * static_cast<size_t>(chunks * kSums);
  if (warp < kSums) {
    float sum = 0;
    for (int c = lane; c < chunks; c += kWarp) sum += parts[c * kSums + warp];
    sum = warp_sum(sum);
    if (lane == 0) totals[warp] = sum;
  }
  __syncthreads();
  const float width = static_cast<float>(dim);
  const float norm = 1.0f / sqrtf(totals[kOutputs + 1] / width + params.rms_eps);
#pragma unroll
  for (int i = 0; i < kMostFours; ++i) {
    const int four = static_cast<int>(threadIdx.x) + i * kEnterThreads;
    if (four >= fours) break;
    const float4 w = reinterpret_cast<const float4*>(norm_weight)[four];
    at[four] = {w.x * (v[i].x * norm), w.y * (v[i].y * norm), w.z * (v[i].z * norm),
                w.w * (v[i].w * norm)};
  }
  if (warp != 0) return;
  const float mean = totals[kOutputs] / (static_cast<float>(kMult) * width);
  put_coefficients(params, mean, totals, base, scale, z, sums, out);
}

}  // namespace

static_assert(kOutputs % kWarps == 0 && kSums <= kEnterThreads / kWarp);

bool fits_hc_enter(const HcStream& s, const HcMix& mix) {
  return s.params.mult == kMult && s.dim % kChunk == 0 && s.dim <= 4 * kMostFours * kEnterThreads &&
         mix.fn->format == Format::kF32;
}

size_t hc_enter_scratch_floats(int rows, int dim) {
  return static_cast<size_t>(rows) * static_cast<size_t>(dim / kChunk) * kSums;
}

void launch_hc_enter(LaunchQueue& queue, const HcStream& s, const HcMix& mix, const float* collapse,
                     const float* norm, int rows, float* x, float* scratch) {
  if (rows == 0) return;
  const int chunks = s.dim / kChunk;
  const dim3 blocks(static_cast<unsigned>(chunks),
                    static_cast<unsigned>((rows + kRowsABand - 1) / kRowsABand));
  const auto* fn = reinterpret_cast<const float*>(mix.fn->data.address());
  launch_early(queue, parts_kernel, blocks, kWarps * kWarp, 0, s.h.address(), s.dim, fn, collapse,
               rows, x, scratch);
  launch_early(queue, enter_kernel, static_cast<unsigned>(rows), kEnterThreads, 0, s.params, s.dim,
               chunks, static_cast<const float*>(scratch), mix.base.address(), mix.scale.address(),
               norm, Coefficients{s.pre.address(), s.post.address(), s.comb.address()}, x);
}

}  // namespace rota
