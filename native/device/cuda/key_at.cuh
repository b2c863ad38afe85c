// Reading cached keys in device code: one channel of a row in any of their formats.
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
};

inline Keys keys_of(const KeyRows& rows) {
  return {rows.format, rows.dim, rows.row_bytes(), rows.data.address()};
}

// Channel d of row `index`. Rows of floats and halves are aligned to their elements.
__device__ __forceinline__ float key_at(const Keys& keys, size_t index, int d) {
  const uint8_t* row = keys.data + index * keys.row_bytes;
  switch (keys.format) {
    case KeyFormat::kF32:
      return reinterpret_cast<const float*>(row)[d];
    case KeyFormat::kF16:
      return fp16_to_float(reinterpret_cast<const uint16_t*>(row)[d]);
    case KeyFormat::kFp8Block32:
      return e4m3_to_float(row[d]) * e8m0_to_float(row[keys.dim + d / 32]);
    case KeyFormat::kFp4E8m0Block32: {
      const uint32_t byte = row[d / 2];
      return e2m1_to_float(d % 2 == 0 ? byte & 15u : byte >> 4) *
             e8m0_to_float(row[keys.dim / 2 + d / 32]);
    }
    case KeyFormat::kFp4E4m3Block16: {
      const uint32_t byte = row[d / 2];
      return e2m1_to_float(d % 2 == 0 ? byte & 15u : byte >> 4) *
             e4m3_to_float(row[keys.dim / 2 + d / 16]);
    }
  }
  return 0;
}

}  // namespace rota::gpu
