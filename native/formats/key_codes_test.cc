// Packed rows hold bit for bit what the roundings leave, and a row has the bytes it says.
#include "formats/key_codes.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "formats/numbers.h"

namespace rota {
namespace {

constexpr size_t kDim = 96;

// Rows of every magnitude: normal values, blocks of tiny and of huge ones, zeros of both signs,
// halves that tie.
std::vector<std::vector<float>> hard_rows() {
  std::vector<std::vector<float>> rows;
  for (uint64_t r = 0; r < 400; ++r) {
    std::vector<float> row(kDim);
    for (size_t i = 0; i < kDim; ++i) {
      const uint64_t key = splitmix64(r * 1000 + i);
      const int block = static_cast<int>(splitmix64(r * 7 + i / 16) % 24) - 16;
      row[i] = std::ldexp(static_cast<float>(2 * unit_double(key) - 1), r % 4 == 0 ? 0 : 2 * block);
      if (key % 11 == 0) row[i] = key % 2 == 0 ? 0.f : -0.f;
      if (r % 5 == 1) row[i] = std::round(row[i] * 16) / 4;
    }
    rows.push_back(row);
  }
  rows.emplace_back(kDim, 0.f);
  rows.emplace_back(kDim, -448.f);
  rows.emplace_back(kDim, 1e-38f);
  rows.emplace_back(kDim, 3e38f);
  return rows;
}

std::vector<float> through(KeyFormat format, const std::vector<float>& row) {
  std::vector<uint8_t> bytes(key_row_bytes(format, row.size()) + 1, 0xa5);
  encode_key_row(format, row.data(), row.size(), bytes.data());
  CHECK(bytes.back() == 0xa5);
  std::vector<float> out(row.size());
  decode_key_row(format, bytes.data(), row.size(), out.data());
  return out;
}

size_t unlike(const std::vector<float>& a, const std::vector<float>& b) {
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
  return count;
}

struct Rounding {
  KeyFormat format;
  void (*round)(float*, size_t);
};

TEST_CASE("a packed row is the rounding, bit for bit, and packs again to itself") {
  for (const Rounding& rounding : {Rounding{KeyFormat::kFp8Block32, fake_quant_fp8},
                                   Rounding{KeyFormat::kFp4E8m0Block32, fake_quant_fp4_e8m0},
                                   Rounding{KeyFormat::kFp4E4m3Block16, fake_quant_fp4_e4m3}}) {
    CAPTURE(static_cast<int>(rounding.format));
    CHECK(is_packed(rounding.format));
    size_t wrong = 0;
    for (const std::vector<float>& row : hard_rows()) {
      std::vector<float> rounded = row;
      rounding.round(rounded.data(), rounded.size());
      wrong += unlike(through(rounding.format, row), rounded);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("fp32 rows are copied, fp16 rows are fp16") {
  size_t copied = 0, halved = 0;
  for (const std::vector<float>& row : hard_rows()) {
    copied += unlike(through(KeyFormat::kF32, row), row);
    std::vector<float> half = row;
    for (float& x : half) x = fp16_to_float(float_to_fp16(x));
    halved += unlike(through(KeyFormat::kF16, row), half);
  }
  CHECK(copied == 0);
  CHECK(halved == 0);
  CHECK(!is_packed(KeyFormat::kF16));
}

TEST_CASE(
    "fp16 holds the compressed rounding's values exactly: a scale of 4 bits times a code of 2") {
  size_t changed = 0;
  for (const std::vector<float>& row : hard_rows()) {
    std::vector<float> rounded = row;
    fake_quant_fp4_e4m3(rounded.data(), rounded.size());
    changed += unlike(through(KeyFormat::kF16, rounded), rounded);
  }
  CHECK(changed == 0);
}

// What 890 bytes a token of the full model are made of.
TEST_CASE("a row's bytes are its codes and a scale a block") {
  CHECK(key_row_bytes(KeyFormat::kF32, 512) == 2048);
  CHECK(key_row_bytes(KeyFormat::kF16, 512) == 1024);
  CHECK(key_row_bytes(KeyFormat::kFp8Block32, 512) == 512 + 16);
  CHECK(key_row_bytes(KeyFormat::kFp4E4m3Block16, 512) == 256 + 32);
  CHECK(key_row_bytes(KeyFormat::kFp4E8m0Block32, 128) == 64 + 4);
}

}  // namespace
}  // namespace rota
