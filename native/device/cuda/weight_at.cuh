// One weight of a row in any block format, decoded exactly where it lies (bit layouts:
// formats/README.md). For what is read rarely or in odd shapes; device code alone.
#pragma once

#include "device/cuda/small_numbers.cuh"
#include "formats/block.h"

namespace rota::gpu {

// Little-endian, at any address.
__device__ __forceinline__ uint16_t half_at(const uint8_t* bytes) {
  return static_cast<uint16_t>(bytes[0] | (bytes[1] << 8));
}
__device__ __forceinline__ float float_at(const uint8_t* bytes) {
  return __uint_as_float(static_cast<uint32_t>(half_at(bytes)) |
                         (static_cast<uint32_t>(half_at(bytes + 2)) << 16));
}

__device__ __forceinline__ float q2_k_weight(const uint8_t* block, int w) {
  const int lane = w % 32, step = (w % 128) / 32;
  const int code = (block[16 + 32 * (w / 128) + lane] >> (2 * step)) & 3, b = block[w / 16];
  const float d = fp16_to_float(half_at(block + 80)), dmin = fp16_to_float(half_at(block + 82));
  return d * static_cast<float>(b & 15) * static_cast<float>(code) -
         dmin * static_cast<float>(b >> 4);
}

__device__ __forceinline__ float q3_k_weight(const uint8_t* block, int w) {
  const int half = w / 128, lane = w % 32, step = (w % 128) / 32, k = w / 16;
  const int low = (block[32 + 32 * half + lane] >> (2 * step)) & 3;
  const int code = ((block[lane] >> (4 * half + step)) & 1) != 0 ? low : low - 4;
  const uint8_t* scales = block + 96;
  const int nibble = k < 8 ? scales[k] & 15 : scales[k - 8] >> 4;
  const int scale = (nibble | (((scales[8 + k % 4] >> (2 * (k / 4))) & 3) << 4)) - 32;
  return fp16_to_float(half_at(block + 108)) * static_cast<float>(scale) * static_cast<float>(code);
}

__device__ __forceinline__ float ptq1_0_weight(const uint8_t* block, int w) {
  // qs and qh are neighbours: bytes 0 .. 25.
  const int byte = w < 80 ? w % 16 : w < 120 ? 16 + (w - 80) % 8 : 24 + (w - 120) % 2;
  const int digit = w < 80 ? w / 16 : w < 120 ? (w - 80) / 8 : (w - 120) / 2;
  constexpr uint32_t kPower[5] = {1, 3, 9, 27, 81};
  const uint32_t trit = (((block[byte] * kPower[digit]) & 255u) * 3u) >> 8;
  return fp16_to_float(half_at(block + 26)) * (static_cast<float>(trit) - 1.f);
}

// Weight i of the row at `row`. Not for integer formats.
__device__ __forceinline__ float weight_at(Format format, const uint8_t* row, size_t i) {
  const int w32 = static_cast<int>(i % 32);
  switch (format) {
    case Format::kF32:
      return float_at(row + 4 * i);
    case Format::kF16:
      return fp16_to_float(half_at(row + 2 * i));
    case Format::kBF16:
      return bf16_to_float(half_at(row + 2 * i));
    case Format::kQ8_0: {
      const uint8_t* block = row + i / 32 * 34;
      return fp16_to_float(half_at(block)) *
             static_cast<float>(static_cast<int8_t>(block[2 + w32]));
    }
    case Format::kMXFP8: {
      const uint8_t* block = row + i / 32 * 33;
      return e8m0_to_float(block[0]) * e4m3_to_float(block[1 + w32]);
    }
    case Format::kMXFP4: {
      const uint8_t* block = row + i / 32 * 17;
      const uint32_t byte = block[1 + w32 % 16];
      return e8m0_to_float(block[0]) * e2m1_to_float(w32 < 16 ? byte & 15u : byte >> 4);
    }
    case Format::kQ2_0: {
      const uint8_t* block = row + i / 64 * 18;
      const int w = static_cast<int>(i % 64);
      const int code = (block[2 + w / 4] >> (2 * (w % 4))) & 3;
      return fp16_to_float(half_at(block)) * static_cast<float>(code - 1);
    }
    case Format::kQ2_K:
      return q2_k_weight(row + i / 256 * 84, static_cast<int>(i % 256));
    case Format::kQ3_K:
      return q3_k_weight(row + i / 256 * 110, static_cast<int>(i % 256));
    case Format::kPTQ1_0:
      return ptq1_0_weight(row + i / 128 * 28, static_cast<int>(i % 128));
    case Format::kI32:
    case Format::kI64:
      break;
  }
  return __uint_as_float(0x7fc00000u);
}

}  // namespace rota::gpu
