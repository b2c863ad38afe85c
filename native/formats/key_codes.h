// Rows of cached keys in bytes: fp32, fp16, or the codes and scales of the model's own three
// roundings (numbers.h), whose values are bit for bit what the rounding leaves. A packed row is its
// codes, then the scales of its blocks. Knows no cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rota {

enum class KeyFormat : uint8_t { kF32, kF16, kFp8Block32, kFp4E8m0Block32, kFp4E4m3Block16 };

// The model's codes: encoding such a row is the rounding itself.
constexpr bool is_packed(KeyFormat format) {
  return format != KeyFormat::kF32 && format != KeyFormat::kF16;
}

// dim a multiple of 32.
size_t key_row_bytes(KeyFormat format, size_t dim);
// NaN-free input assumed, as by the roundings.
void encode_key_row(KeyFormat format, const float* x, size_t dim, uint8_t* row);
void decode_key_row(KeyFormat format, const uint8_t* row, size_t dim, float* x);

}  // namespace rota
