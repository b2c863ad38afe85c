// Small numbers and fake quantisers against golden vectors, bit for bit, and against their
// definitions on every code.
#include "formats/numbers.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace rota {
namespace {

#include "formats/golden/numbers_golden.inc"

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST_CASE("conversions match the golden vectors: ties, saturation, subnormals, signed zeros") {
  int wrong = 0;
  for (const auto& [in, e4m3, fp16, bf16] : kScalarGolden) {
    const float x = std::bit_cast<float>(in);
    wrong += bits(e4m3_to_float(float_to_e4m3(x))) != e4m3;
    wrong += bits(fp16_to_float(float_to_fp16(x))) != fp16;
    wrong += bits(bf16_to_float(float_to_bf16(x))) != bf16;
  }
  CHECK(wrong == 0);
}

template <size_t N>
int mismatches(const uint32_t (&golden)[N][2], size_t block, void (*quantise)(float*, size_t)) {
  std::vector<float> x;
  for (const auto& [in, out] : golden) x.push_back(std::bit_cast<float>(in));
  // All groups in one call, then one by one: a group must not see its neighbours.
  std::vector<float> whole = x;
  quantise(whole.data(), whole.size());
  for (size_t i = 0; i < x.size(); i += block) quantise(x.data() + i, block);
  int wrong = 0;
  for (size_t i = 0; i < N; ++i) {
    wrong += bits(x[i]) != golden[i][1] || bits(whole[i]) != golden[i][1];
  }
  return wrong;
}

TEST_CASE("fake quantisers match the golden vectors bit for bit") {
  CHECK(mismatches(kFakeFp8Golden, kFakeFp8Block, fake_quant_fp8) == 0);
  CHECK(mismatches(kFakeFp4E8m0Golden, kFakeFp4E8m0Block, fake_quant_fp4_e8m0) == 0);
  CHECK(mismatches(kFakeFp4E4m3Golden, kFakeFp4E4m3Block, fake_quant_fp4_e4m3) == 0);
}

TEST_CASE("fake quantisers on the worked example") {
  const std::vector<float> pattern = {.3f, -1.7f, 5.f, -6.1f, .01f, 2.4f, 3.1f, -.9f};
  const auto run = [&](void (*quantise)(float*, size_t)) {
    std::vector<float> x;
    for (int i = 0; i < 4; ++i) x.insert(x.end(), pattern.begin(), pattern.end());
    quantise(x.data(), x.size());
    return std::vector<float>(x.begin(), x.begin() + 8);
  };
  CHECK(run(fake_quant_fp8) ==
        std::vector<float>{.3125f, -1.75f, 5.f, -6.f, .009765625f, 2.5f, 3.f, -.875f});
  CHECK(run(fake_quant_fp4_e8m0) == std::vector<float>{0.f, -2.f, 4.f, -6.f, 0.f, 2.f, 3.f, -1.f});
  CHECK(run(fake_quant_fp4_e4m3) == std::vector<float>{.5f, -1.5f, 4.f, -6.f, 0.f, 2.f, 3.f, -1.f});
}

TEST_CASE("every code of every format survives decode and encode") {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    if ((code & 0x7f) == 0x7f) {
      CHECK(std::isnan(e4m3_to_float(byte)));
    } else {
      CHECK(float_to_e4m3(e4m3_to_float(byte)) == byte);
    }
  }
  for (uint8_t code = 0; code < 16; ++code) CHECK(float_to_e2m1(e2m1_to_float(code)) == code);
  int wrong = 0;
  for (uint32_t code = 0; code < 65536; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const bool fp16_nan = (code & 0x7fff) > 0x7c00, bf16_nan = (code & 0x7fff) > 0x7f80;
    wrong +=
        fp16_nan ? !std::isnan(fp16_to_float(half)) : float_to_fp16(fp16_to_float(half)) != half;
    wrong +=
        bf16_nan ? !std::isnan(bf16_to_float(half)) : float_to_bf16(bf16_to_float(half)) != half;
  }
  CHECK(wrong == 0);
}

TEST_CASE("fp16 decodes as its definition says") {
  int wrong = 0;
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    const int exponent = static_cast<int>(code >> 10);
    const double mantissa = static_cast<double>(code & 1023) / 1024.0;
    const double value =
        exponent == 0 ? std::ldexp(mantissa, -14) : std::ldexp(1 + mantissa, exponent - 15);
    wrong += static_cast<double>(fp16_to_float(static_cast<uint16_t>(code))) != value;
    wrong += static_cast<double>(fp16_to_float(static_cast<uint16_t>(code | 0x8000))) != -value;
  }
  CHECK(wrong == 0);
  CHECK(std::isinf(fp16_to_float(0x7c00)));
}

TEST_CASE("NaN and infinity keep their kind") {
  const float nan = std::bit_cast<float>(0x7f800001u), inf = std::bit_cast<float>(0x7f800000u);
  CHECK(std::isnan(fp16_to_float(float_to_fp16(nan))));
  CHECK(std::isnan(bf16_to_float(float_to_bf16(nan))));
  CHECK(float_to_fp16(-inf) == 0xfc00);
  CHECK(float_to_bf16(inf) == 0x7f80);
  CHECK(e4m3_to_float(float_to_e4m3(inf)) == 448.f);
  CHECK(e2m1_to_float(float_to_e2m1(-inf)) == -6.f);
}

TEST_CASE("E2M1 ties go to the even code") {
  const float in[] = {.25f, .75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.f};
  const float out[] = {0.f, 1.f, 1.f, 2.f, 2.f, 4.f, 4.f};
  for (size_t i = 0; i < 7; ++i) {
    CHECK(e2m1_to_float(float_to_e2m1(in[i])) == out[i]);
    CHECK(e2m1_to_float(float_to_e2m1(-in[i])) == -out[i]);
  }
}

TEST_CASE("E8M0 is a power of two, with its two special bytes") {
  for (int byte = 0; byte < 255; ++byte) {
    CHECK(static_cast<double>(e8m0_to_float(static_cast<uint8_t>(byte))) ==
          std::ldexp(1.0, byte - 127));
  }
  CHECK(std::isnan(e8m0_to_float(255)));
}

TEST_CASE("pow2_ceil keeps powers and raises the rest") {
  CHECK(pow2_ceil(1.f) == 1.f);
  CHECK(pow2_ceil(std::nextafter(1.f, 2.f)) == 2.f);
  CHECK(pow2_ceil(std::nextafter(1.f, 0.f)) == 1.f);
  CHECK(pow2_ceil(0x1p-126f) == 0x1p-126f);
  CHECK(pow2_ceil(3.f) == 4.f);
}

}  // namespace
}  // namespace rota
