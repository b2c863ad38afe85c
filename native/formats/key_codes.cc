// Codes and scales of one row.
#include "formats/key_codes.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "formats/numbers.h"

namespace rota {
namespace {

const std::array<float, 256>& e4m3_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> all{};
    for (size_t code = 0; code < all.size(); ++code) {
      all[code] = e4m3_to_float(static_cast<uint8_t>(code));
    }
    return all;
  }();
  return values;
}

// The byte of a power of two that is a normal number.
uint8_t e8m0_of(float power) { return static_cast<uint8_t>(std::bit_cast<uint32_t>(power) >> 23); }

void encode_fp8(const float* x, size_t n, uint8_t* codes) {
  uint8_t* scales = codes + n;
  for (size_t at = 0; at < n; at += kFakeFp8Block) {
    const float scale = fake_fp8_scale(x + at);
    *scales++ = e8m0_of(scale);
    for (size_t i = 0; i < kFakeFp8Block; ++i) codes[at + i] = float_to_e4m3(x[at + i] / scale);
  }
}

void decode_fp8(const uint8_t* codes, size_t n, float* x) {
  const std::array<float, 256>& values = e4m3_values();
  const uint8_t* scales = codes + n;
  for (size_t at = 0; at < n; at += kFakeFp8Block) {
    const float scale = e8m0_to_float(*scales++);
    for (size_t i = 0; i < kFakeFp8Block; ++i) x[at + i] = values[codes[at + i]] * scale;
  }
}

// Two codes a byte, the lower channel in the low nibble.
void encode_fp4(const float* x, size_t n, float scale, uint8_t* codes) {
  for (size_t i = 0; i < n; i += 2) {
    codes[i / 2] =
        static_cast<uint8_t>(float_to_e2m1(x[i] / scale) | (float_to_e2m1(x[i + 1] / scale) << 4));
  }
}

void decode_fp4(const uint8_t* codes, size_t n, float scale, float* x) {
  for (size_t i = 0; i < n; i += 2) {
    x[i] = e2m1_to_float(codes[i / 2] & 15) * scale;
    x[i + 1] = e2m1_to_float(codes[i / 2] >> 4) * scale;
  }
}

}  // namespace

size_t key_row_bytes(KeyFormat format, size_t dim) {
  switch (format) {
    case KeyFormat::kF32:
      return dim * sizeof(float);
    case KeyFormat::kF16:
      return dim * sizeof(uint16_t);
    case KeyFormat::kFp8Block32:
      return dim + dim / kFakeFp8Block;
    case KeyFormat::kFp4E8m0Block32:
      return dim / 2 + dim / kFakeFp4E8m0Block;
    case KeyFormat::kFp4E4m3Block16:
      return dim / 2 + dim / kFakeFp4E4m3Block;
  }
  return 0;
}

void encode_key_row(KeyFormat format, const float* x, size_t dim, uint8_t* row) {
  switch (format) {
    case KeyFormat::kF32:
      std::memcpy(row, x, dim * sizeof(float));
      return;
    case KeyFormat::kF16:
      for (size_t i = 0; i < dim; ++i) {
        const uint16_t half = float_to_fp16(x[i]);
        std::memcpy(row + i * sizeof half, &half, sizeof half);
      }
      return;
    case KeyFormat::kFp8Block32:
      return encode_fp8(x, dim, row);
    case KeyFormat::kFp4E8m0Block32:
      for (size_t at = 0; at < dim; at += kFakeFp4E8m0Block) {
        const float scale = fake_fp4_e8m0_scale(x + at);
        row[dim / 2 + at / kFakeFp4E8m0Block] = e8m0_of(scale);
        encode_fp4(x + at, kFakeFp4E8m0Block, scale, row + at / 2);
      }
      return;
    case KeyFormat::kFp4E4m3Block16:
      for (size_t at = 0; at < dim; at += kFakeFp4E4m3Block) {
        const uint8_t code = fake_fp4_e4m3_scale(x + at);
        row[dim / 2 + at / kFakeFp4E4m3Block] = code;
        encode_fp4(x + at, kFakeFp4E4m3Block, e4m3_to_float(code), row + at / 2);
      }
      return;
  }
}

void decode_key_row(KeyFormat format, const uint8_t* row, size_t dim, float* x) {
  switch (format) {
    case KeyFormat::kF32:
      std::memcpy(x, row, dim * sizeof(float));
      return;
    case KeyFormat::kF16:
      for (size_t i = 0; i < dim; ++i) {
        uint16_t half;
        std::memcpy(&half, row + i * sizeof half, sizeof half);
        x[i] = fp16_to_float(half);
      }
      return;
    case KeyFormat::kFp8Block32:
      return decode_fp8(row, dim, x);
    case KeyFormat::kFp4E8m0Block32:
      for (size_t at = 0; at < dim; at += kFakeFp4E8m0Block) {
        const float scale = e8m0_to_float(row[dim / 2 + at / kFakeFp4E8m0Block]);
        decode_fp4(row + at / 2, kFakeFp4E8m0Block, scale, x + at);
      }
      return;
    case KeyFormat::kFp4E4m3Block16:
      for (size_t at = 0; at < dim; at += kFakeFp4E4m3Block) {
        const float scale = e4m3_values()[row[dim / 2 + at / kFakeFp4E4m3Block]];
        decode_fp4(row + at / 2, kFakeFp4E4m3Block, scale, x + at);
      }
      return;
  }
}

}  // namespace rota
