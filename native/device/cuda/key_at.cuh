// Reading cached keys in device code: rows in any of their formats, by a warp each.
#pragma once

#include "device/cuda/small_numbers.cuh"
#include "device/key_rows.h"

namespace rota::gpu {

// Rows of keys as a kernel takes them.
struct Keys {
  KeyFormat format = KeyFormat::kF32;
  int dim = 0;
  size_t row_bytes = 0;
  const uint8_t* data = nullptr;

  __device__ const uint8_t* row(size_t index) const { return data + index * row_bytes; }
};

inline Keys keys_of(const KeyRows& rows) {
  return {rows.format, rows.dim, rows.row_bytes(), rows.data.address()};
}

// Channels [d, d + 4) of the row at `row`; d a multiple of 4. Rows of floats and halves are aligned
// to four of them, codes to nothing.
__device__ __forceinline__ float4 four_at(const Keys& keys, const uint8_t* row, int d) {
  switch (keys.format) {
    case KeyFormat::kF32:
      return *reinterpret_cast<const float4*>(row + 4 * d);
    case KeyFormat::kF16: {
      const ushort4 half = *reinterpret_cast<const ushort4*>(row + 2 * d);
      return {fp16_to_float(half.x), fp16_to_float(half.y), fp16_to_float(half.z),
              fp16_to_float(half.w)};
    }
    case KeyFormat::kFp8Block32: {
      const float scale = e8m0_to_float(row[keys.dim + d / 32]);
      return {e4m3_to_float(row[d]) * scale, e4m3_to_float(row[d + 1]) * scale,
              e4m3_to_float(row[d + 2]) * scale, e4m3_to_float(row[d + 3]) * scale};
    }
    default:
      break;
  }
  const uint32_t low = row[d / 2], high = row[d / 2 + 1];
  const float scale = keys.format == KeyFormat::kFp4E8m0Block32
                          ? e8m0_to_float(row[keys.dim / 2 + d / 32])
                          : e4m3_to_float(row[keys.dim / 2 + d / 16]);
  return {e2m1_to_float(low & 15u) * scale, e2m1_to_float(low >> 4) * scale,
          e2m1_to_float(high & 15u) * scale, e2m1_to_float(high >> 4) * scale};
}

// A warp decodes a row to `out` [keys.dim], 16-byte aligned.
__device__ __forceinline__ void decode_row(const Keys& keys, const uint8_t* row, int lane,
                                           float* out) {
#pragma unroll 4
  for (int d = 4 * lane; d < keys.dim; d += 4 * 32) {
    *reinterpret_cast<float4*>(out + d) = four_at(keys, row, d);
  }
}

}  // namespace rota::gpu
