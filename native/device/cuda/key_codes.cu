// A warp rounds 32 neighbouring values: one block of 32, or two of 16.
#include "device/cuda/key_codes.cuh"

#include "device/cuda/early_launch.cuh"
#include "device/cuda/key_at.cuh"
#include "device/cuda/reduce.cuh"
#include "device/cuda/small_numbers.cuh"

namespace rota {
namespace {

using namespace gpu;

constexpr int kThreads = 256;

// The scale of this lane's block, from its value; fp4_e4m3's as a float.
__device__ float scale_of(FakeQuant kind, float value) {
  const float magnitude = fabsf(value);
  if (kind == FakeQuant::kFp4E4m3Block16) {
    const float amax = fmaxf(lanes_max<16>(magnitude), 6.f * 0x1p-9f);
    return e4m3_to_float(float_to_e4m3(__fdiv_rn(amax, 6.f)));
  }
  const float amax = lanes_max<32>(magnitude);
  if (kind == FakeQuant::kFp8Block32) {
    return pow2_ceil(__fmul_rn(fmaxf(amax, 1e-4f), 1.f / 448.f));
  }
  return pow2_ceil(__fmul_rn(fmaxf(amax, 6.f * 0x1p-126f), 1.f / 6.f));
}

__device__ uint32_t code_of(FakeQuant kind, float value, float scale) {
  const float ratio = __fdiv_rn(value, scale);
  return kind == FakeQuant::kFp8Block32 ? float_to_e4m3(ratio) : float_to_e2m1(ratio);
}

__global__ void fake_quant_kernel(FakeQuant kind, float* x, size_t count) {
  take_turn();
  const size_t i = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  // All lanes of a warp take part in the maximum of what is there.
  const float value = i < count ? x[i] : 0.f;
  const float scale = scale_of(kind, value);
  const uint32_t code = code_of(kind, value, scale);
  const float rounded = kind == FakeQuant::kFp8Block32 ? e4m3_to_float(code) : e2m1_to_float(code);
  if (i < count) x[i] = __fmul_rn(rounded, scale);
}

// blockIdx.x: row; threadIdx strides over its channels, a warp at 32 neighbours.
__global__ void store_plain_kernel(const float* x, int dim, int first, Keys keys, uint8_t* data,
                                   int slots) {
  take_turn();
  const size_t slot = static_cast<size_t>((first + static_cast<int>(blockIdx.x)) % slots);
  uint8_t* row = data + slot * keys.row_bytes;
  for (int d = static_cast<int>(threadIdx.x); d < dim; d += kThreads) {
    const float value =
        x[static_cast<size_t>(blockIdx.x) * static_cast<size_t>(dim) + static_cast<size_t>(d)];
    if (keys.format == KeyFormat::kF32) {
      reinterpret_cast<float*>(row)[d] = value;
    } else {
      reinterpret_cast<uint16_t*>(row)[d] = float_to_fp16(value);
    }
  }
}

__global__ void store_codes_kernel(const float* x, FakeQuant kind, int dim, int first,
                                   size_t row_bytes, uint8_t* data, int slots) {
  take_turn();
  const size_t slot = static_cast<size_t>((first + static_cast<int>(blockIdx.x)) % slots);
  uint8_t* row = data + slot * row_bytes;
  // dim is a multiple of 32: a warp has a whole block or nothing.
  for (int d = static_cast<int>(threadIdx.x); d < dim; d += kThreads) {
    const float value =
        x[static_cast<size_t>(blockIdx.x) * static_cast<size_t>(dim) + static_cast<size_t>(d)];
    const float scale = scale_of(kind, value);
    const uint32_t code = code_of(kind, value, scale);
    if (kind == FakeQuant::kFp8Block32) {
      row[d] = static_cast<uint8_t>(code);
      if (d % 32 == 0) row[dim + d / 32] = static_cast<uint8_t>(__float_as_uint(scale) >> 23);
      continue;
    }
    const uint32_t next = __shfl_down_sync(kAllLanes, code, 1);
    if (d % 2 == 0) row[d / 2] = static_cast<uint8_t>(code | (next << 4));
    if (kind == FakeQuant::kFp4E8m0Block32) {
      if (d % 32 == 0) row[dim / 2 + d / 32] = static_cast<uint8_t>(__float_as_uint(scale) >> 23);
    } else if (d % 16 == 0) {
      row[dim / 2 + d / 16] = static_cast<uint8_t>(float_to_e4m3(scale));
    }
  }
}

FakeQuant rounding_of(KeyFormat format) {
  switch (format) {
    case KeyFormat::kFp4E8m0Block32:
      return FakeQuant::kFp4E8m0Block32;
    case KeyFormat::kFp4E4m3Block16:
      return FakeQuant::kFp4E4m3Block16;
    default:
      return FakeQuant::kFp8Block32;
  }
}

}  // namespace

void launch_fake_quant(LaunchQueue& queue, FakeQuant kind, float* x, size_t count) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  launch_early(queue, fake_quant_kernel, blocks, kThreads, 0, kind, x, count);
}

void launch_store_keys(LaunchQueue& queue, const float* x, int rows, int first, const KeyRows& keys,
                       int slots) {
  if (rows == 0) return;
  const auto blocks = static_cast<unsigned>(rows);
  if (is_packed(keys.format)) {
    launch_early(queue, store_codes_kernel, blocks, kThreads, 0, x, rounding_of(keys.format),
                 keys.dim, first, keys.row_bytes(), keys.data.address(), slots);
  } else {
    launch_early(queue, store_plain_kernel, blocks, kThreads, 0, x, keys.dim, first, keys_of(keys),
                 keys.data.address(), slots);
  }
}

}  // namespace rota
