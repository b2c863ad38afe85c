// Norms by a block a row; the rest element by element.
#include "device/cuda/row_ops.cuh"

#include "device/cuda/early_launch.cuh"
#include "device/cuda/reduce.cuh"
#include "device/cuda/rotation.cuh"

namespace rota {
namespace {

constexpr int kThreads = 256;
constexpr int kNormThreads = 512;

__device__ size_t element() { return static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x; }

unsigned blocks_for(size_t elements) {
  return static_cast<unsigned>((elements + kThreads - 1) / kThreads);
}

// Sum of a[i] * b[i] over a row, the same for every thread. Buffers start at multiples of 16 bytes.
__device__ float dot(const float* a, const float* b, int n, float* shared) {
  float sum = 0;
  const int fours = n % 4 == 0 ? n / 4 : 0;  // rows are then aligned to them
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < fours; i += kNormThreads) {
    const float4 u = reinterpret_cast<const float4*>(a)[i],
                 v = reinterpret_cast<const float4*>(b)[i];
    sum = fmaf(u.w, v.w, fmaf(u.z, v.z, fmaf(u.y, v.y, fmaf(u.x, v.x, sum))));
  }
  for (int i = 4 * fours + static_cast<int>(threadIdx.x); i < n; i += kNormThreads) {
    sum = fmaf(a[i], b[i], sum);
  }
  return block_sum<kNormThreads>(sum, shared);
}

__device__ float inverse_root(float mean, float eps) { return 1.0f / sqrtf(mean + eps); }

// x and y may be one: no __restrict__.
__global__ void rms_kernel(const float* x, const float* w, int n, float eps, float* y) {
  take_turn();
  __shared__ float shared[kNormThreads / kWarp];
  const size_t row = static_cast<size_t>(blockIdx.x) * static_cast<size_t>(n);
  const float mean = dot(x + row, x + row, n, shared) / static_cast<float>(n);
  const float norm = inverse_root(mean, eps);
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kNormThreads) {
    y[row + static_cast<size_t>(i)] = w[i] * (x[row + static_cast<size_t>(i)] * norm);
  }
}

// In place; a thread has whole pairs of channels, of which the last `pairs` are turned.
__global__ void rms_rope_kernel(float* x, const float* w, int n, float eps, const float* freq,
                                int pairs, int first_position, int step) {
  __shared__ float shared[kNormThreads / kWarp];
  take_turn();
  float* row = x + static_cast<size_t>(blockIdx.x) * static_cast<size_t>(n);
  const float norm = inverse_root(dot(row, row, n, shared) / static_cast<float>(n), eps);
  const int position = first_position + static_cast<int>(blockIdx.x) * step;
  const int first = n / 2 - pairs;
  for (int i = static_cast<int>(threadIdx.x); i < n / 2; i += kNormThreads) {
    float2 both{w[2 * i] * (row[2 * i] * norm), w[2 * i + 1] * (row[2 * i + 1] * norm)};
    if (i >= first) both = turned(both.x, both.y, turn_of(position, freq[i - first], false));
    row[2 * i] = both.x, row[2 * i + 1] = both.y;
  }
}

// One thread a pair of channels.
__global__ void rope_kernel(float* x, size_t count, int heads, int dim, const float* freq,
                            int pairs, int first_position, int step, bool inverse) {
  take_turn();
  const size_t i = element();
  if (i >= count) return;
  const auto pair = static_cast<int>(i % static_cast<size_t>(pairs));
  const size_t head = i / static_cast<size_t>(pairs);  // row * heads + head of the row
  const int row = static_cast<int>(head / static_cast<size_t>(heads));
  float* at = x + head * static_cast<size_t>(dim) + static_cast<size_t>(dim - 2 * pairs + 2 * pair);
  const float2 both =
      turned(at[0], at[1], turn_of(first_position + row * step, freq[pair], inverse));
  at[0] = both.x, at[1] = both.y;
}

__global__ void ring_write_kernel(const float* x, size_t count, int dim, int first, float* ring,
                                  int slots) {
  take_turn();
  const size_t i = element();
  if (i >= count) return;
  const size_t width = static_cast<size_t>(dim), row = i / width;
  const size_t slot = static_cast<size_t>((first + static_cast<int>(row)) % slots);
  ring[slot * width + i % width] = x[i];
}

__global__ void compress_kernel(const float* kv_ring, const float* gate_ring, int slots, int ratio,
                                int first_group, size_t count, int dim, float* out) {
  take_turn();
  const size_t i = element();
  if (i >= count) return;
  const size_t width = static_cast<size_t>(dim), channel = i % width;
  const int first = (first_group + static_cast<int>(i / width)) * ratio;
  const auto at = [&](int t) { return static_cast<size_t>((first + t) % slots) * width + channel; };
  if (ratio == 1) {
    out[i] = kv_ring[at(0)];
    return;
  }
  float largest = gate_ring[at(0)];
  for (int t = 1; t < ratio; ++t) largest = fmaxf(largest, gate_ring[at(t)]);
  float total = 0, sum = 0;
  for (int t = 0; t < ratio; ++t) {
    const float e = expf(gate_ring[at(t)] - largest);
    total += e;
    sum = fmaf(e, kv_ring[at(t)], sum);
  }
  out[i] = sum / total;
}

// blockIdx.x: row, blockIdx.y: copy.
__global__ void engram_gate_kernel(float* h, const float* kv, const float* q_weight,
                                   const float* k_weight, int mult, int dim, float eps) {
  take_turn();
  __shared__ float shared[kNormThreads / kWarp];
  const size_t n = static_cast<size_t>(dim), row = blockIdx.x, copy = blockIdx.y;
  const size_t copies = static_cast<size_t>(mult);
  float* stream = h + (row * copies + copy) * n;
  const float* key = kv + (row * (copies + 1) + copy) * n;
  const float* value = kv + (row * (copies + 1) + copies) * n;
  float product = 0;
  for (size_t i = threadIdx.x; i < n; i += kNormThreads) {
    product = fmaf(stream[i] * (q_weight[copy * n + i] * k_weight[copy * n + i]), key[i], product);
  }
  product = block_sum<kNormThreads>(product, shared);
  const float width = static_cast<float>(dim);
  const float h_norm = inverse_root(dot(stream, stream, dim, shared) / width, eps);
  const float key_norm = inverse_root(dot(key, key, dim, shared) / width, eps);
  const float d = product * (h_norm * key_norm) / sqrtf(width);
  const float root = copysignf(sqrtf(fmaxf(fabsf(d), 1e-6f)), d);
  const float gate = 1.0f / (1.0f + expf(-root));
  for (size_t i = threadIdx.x; i < n; i += kNormThreads)
    stream[i] = fmaf(gate, value[i], stream[i]);
}

// out may be gate.
__global__ void swiglu_kernel(const float* gate, const float* up, size_t count, float limit,
                              float* out) {
  take_turn();
  const size_t i = element();
  if (i >= count) return;
  const float a = fminf(gate[i], limit), b = fminf(fmaxf(up[i], -limit), limit);
  out[i] = a / (1.0f + expf(-a)) * b;
}

__global__ void scale_kernel(float* x, size_t count, float factor) {
  take_turn();
  const size_t i = element();
  if (i < count) x[i] *= factor;
}

__global__ void add_kernel(const float* x, size_t count, float* y) {
  take_turn();
  const size_t i = element();
  if (i < count) y[i] += x[i];
}

size_t area(int rows, int columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns);
}

__global__ void copy_kernel(const uint8_t* from, size_t words, size_t bytes, uint8_t* to) {
  take_turn();
  const size_t i = element();
  if (i < words) {
    reinterpret_cast<uint32_t*>(to)[i] = reinterpret_cast<const uint32_t*>(from)[i];
  } else if (4 * words + (i - words) < bytes) {
    to[4 * words + (i - words)] = from[4 * words + (i - words)];
  }
}

}  // namespace

void launch_rms(LaunchQueue& queue, const float* x, const float* w, int rows, int n, float eps,
                float* y) {
  if (rows == 0) return;
  launch_early(queue, rms_kernel, static_cast<unsigned>(rows), kNormThreads, 0, x, w, n, eps, y);
}

void launch_rms_rope(LaunchQueue& queue, float* x, const float* w, int rows, int n, float eps,
                     const float* freq, int pairs, int first_position, int step) {
  if (rows == 0) return;
  launch_early(queue, rms_rope_kernel, static_cast<unsigned>(rows), kNormThreads, 0, x, w, n, eps,
               freq, pairs, first_position, step);
}

void launch_rope(LaunchQueue& queue, float* x, int rows, int heads, int dim, const float* freq,
                 int pairs, int first_position, int step, bool inverse) {
  const size_t count = area(rows, heads) * static_cast<size_t>(pairs);
  if (count == 0) return;
  launch_early(queue, rope_kernel, blocks_for(count), kThreads, 0, x, count, heads, dim, freq,
               pairs, first_position, step, inverse);
}

void launch_ring_write(LaunchQueue& queue, const float* x, int rows, int dim, int first_position,
                       float* ring, int slots) {
  const size_t count = area(rows, dim);
  if (count == 0) return;
  launch_early(queue, ring_write_kernel, blocks_for(count), kThreads, 0, x, count, dim,
               first_position, ring, slots);
}

void launch_compress(LaunchQueue& queue, const float* kv_ring, const float* gate_ring, int slots,
                     int ratio, int first_group, int groups, int dim, float* out) {
  const size_t count = area(groups, dim);
  if (count == 0) return;
  launch_early(queue, compress_kernel, blocks_for(count), kThreads, 0, kv_ring, gate_ring, slots,
               ratio, first_group, count, dim, out);
}

void launch_engram_gate(LaunchQueue& queue, float* h, const float* kv, const float* q_weight,
                        const float* k_weight, int rows, int mult, int dim, float eps) {
  if (rows == 0) return;
  const dim3 blocks(static_cast<unsigned>(rows), static_cast<unsigned>(mult));
  launch_early(queue, engram_gate_kernel, blocks, kNormThreads, 0, h, kv, q_weight, k_weight, mult,
               dim, eps);
}

void launch_swiglu(LaunchQueue& queue, const float* gate, const float* up, size_t count,
                   float limit, float* out) {
  if (count == 0) return;
  launch_early(queue, swiglu_kernel, blocks_for(count), kThreads, 0, gate, up, count, limit, out);
}

void launch_scale(LaunchQueue& queue, float* x, size_t count, float factor) {
  if (count == 0) return;
  launch_early(queue, scale_kernel, blocks_for(count), kThreads, 0, x, count, factor);
}

void launch_add(LaunchQueue& queue, const float* x, size_t count, float* y) {
  if (count == 0) return;
  launch_early(queue, add_kernel, blocks_for(count), kThreads, 0, x, count, y);
}

void launch_copy(LaunchQueue& queue, const void* from, size_t bytes, void* to) {
  if (bytes == 0) return;
  const bool aligned =
      (reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to)) % 4 == 0;
  const size_t words = aligned ? bytes / 4 : 0;
  launch_early(queue, copy_kernel, blocks_for(bytes - 3 * words), kThreads, 0,
               static_cast<const uint8_t*>(from), words, bytes, static_cast<uint8_t*>(to));
}

}  // namespace rota
