// Block formats: hand-made blocks bit for bit, every digit of PTQ1_0, and what encoders promise.
#include "formats/block.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "formats/numbers.h"
#include "formats/quants.h"

namespace rota {
namespace {

constexpr Format kQuantised[] = {Format::kQ8_0,   Format::kQ2_0,  Format::kQ2_K, Format::kQ3_K,
                                 Format::kPTQ1_0, Format::kMXFP4, Format::kMXFP8};

float noise(uint64_t i) {
  return static_cast<float>(unit_double(splitmix64(i)) + unit_double(splitmix64(i ^ 0x55)) - 1.0);
}

template <typename Block>
std::vector<float> decoded(const Block& block) {
  std::vector<float> out(Block::kWeights);
  decode_block(block, out.data());
  return out;
}

TEST_CASE("the table: sizes, names, numbers") {
  CHECK(format_info(Format::kQ8_0).block_bytes == sizeof(BlockQ8_0));
  CHECK(format_info(Format::kQ2_0).block_bytes == sizeof(BlockQ2_0));
  CHECK(format_info(Format::kQ3_K).block_bytes == sizeof(BlockQ3_K));
  CHECK(format_info(Format::kPTQ1_0).block_bytes == sizeof(BlockPTQ1_0));
  for (const FormatInfo& info : all_formats()) {
    CHECK(format_info(static_cast<uint32_t>(info.format)) == &info);
    CHECK(parse_format(info.name).value() == info.format);
  }
  CHECK(format_info(142u) == nullptr);
  CHECK(ggml_type_name(142) == "PQ2_0");
  CHECK(ggml_type_name(12) == "Q4_K");
  CHECK(ggml_type_name(999) == "unknown");
  CHECK(parse_format("Q9").status().message() ==
        "unknown format 'Q9'; there are F32, F16, Q8_0, Q2_K, Q3_K, I32, I64, BF16, MXFP4, Q2_0, "
        "PTQ1_0, MXFP8");
}

// The bytes of one expert of the released shape, 3 x 5120 x 2304.
TEST_CASE("row bytes") {
  const auto expert = [](Format f) {
    return 2 * 2304 * row_bytes(f, 5120).value() + 5120 * row_bytes(f, 2304).value();
  };
  CHECK(expert(Format::kPTQ1_0) == 7741440);
  CHECK(expert(Format::kQ2_0) == 9953280);
  CHECK(expert(Format::kQ3_K) == 15206400);
  CHECK(row_bytes(Format::kQ3_K, 128).status().code() == Code::kLoad);
  CHECK(row_bytes(Format::kQ3_K, 128).status().message() ==
        "Q3_K needs rows of a multiple of 256 weights, not 128");
  CHECK(!row_bytes(Format::kF32, UINT64_MAX).ok());
}

TEST_CASE("Q8_0 by hand") {
  BlockQ8_0 block = {};
  block.d = 0x3800;  // 0.5
  block.q[0] = 1;
  block.q[1] = -128;
  block.q[31] = 127;
  const auto w = decoded(block);
  CHECK(w[0] == 0.5f);
  CHECK(w[1] == -64.f);
  CHECK(w[2] == 0.f);
  CHECK(w[31] == 63.5f);
}

TEST_CASE("Q2_0 by hand: four codes a byte, low bits first") {
  BlockQ2_0 block = {};
  block.d = 0x4000;          // 2.0
  block.qs[0] = 0b11100100;  // codes 0 1 2 3
  block.qs[15] = 0b00011011;
  const auto w = decoded(block);
  CHECK(std::vector<float>(w.begin(), w.begin() + 4) == std::vector<float>{-2.f, 0.f, 2.f, 4.f});
  CHECK(w[4] == -2.f);
  CHECK(std::vector<float>(w.end() - 4, w.end()) == std::vector<float>{4.f, 2.f, 0.f, -2.f});
}

TEST_CASE("Q3_K by hand: scales, low bits and high bits from their own places") {
  BlockQ3_K block = {};
  block.d = 0x3c00;  // 1.0
  // Scale 0 = 33 (low 1, top 2) -> 1; scale 9 = 63 (low 15, top 3) -> 31; the rest is 0 -> -32.
  block.scales[0] = 0x01;
  block.scales[1] = 0xf0;
  block.scales[8] = 0b00000010;
  block.scales[9] = 0b00110000;
  CHECK(q3_k_scale(block.scales, 0) == 1);
  CHECK(q3_k_scale(block.scales, 9) == 31);
  CHECK(q3_k_scale(block.scales, 1) == -32);
  CHECK(q3_k_scale(block.scales, 8) == -32);
  block.qs[0] = 0b00000011;     // weight 0: low 3
  block.hmask[0] = 0b00000001;  // weight 0: high bit set
  // Weight 150: half 1, step 0, lane 22; sub-block 9.
  block.qs[32 + 22] = 0b00000010;
  block.hmask[22] = 0b00010000;
  // Weight 151, lane 23: high bit clear, low 1 -> -3.
  block.qs[32 + 23] = 0b00000001;
  const auto w = decoded(block);
  CHECK(w[0] == 3.f);
  CHECK(w[1] == -4.f);
  CHECK(w[16] == 128.f);  // -32 * -4
  CHECK(w[150] == 62.f);
  CHECK(w[151] == -93.f);
}

TEST_CASE("PTQ1_0: every five-digit number gives its digits back") {
  for (int v = 0; v < 243; ++v) {
    const auto byte = static_cast<uint8_t>((v * 256 + 242) / 243);
    CHECK(byte == static_cast<uint8_t>(std::ceil(v * 256.0 / 243.0)));
    const int digits[5] = {v / 81, v / 27 % 3, v / 9 % 3, v / 3 % 3, v % 3};
    for (int n = 0; n < 5; ++n) CHECK(ptq1_0_trit(byte, n) == digits[n]);
  }
}

TEST_CASE("PTQ1_0: every weight has one place of its own") {
  for (int w = 0; w < 128; ++w) {
    std::vector<float> in(128, 0.f);
    in[static_cast<size_t>(w)] = 1.f;
    BlockPTQ1_0 block;
    encode_block(in.data(), block);
    CHECK(decoded(block) == in);
    // The places as the layout states them, not as the encoder computes them.
    const int byte = w < 80 ? w % 16 : w < 120 ? 16 + (w - 80) % 8 : (w - 120) % 2;
    const int digit = w < 80 ? w / 16 : w < 120 ? (w - 80) / 8 : (w - 120) / 2;
    CHECK(ptq1_0_trit(w < 120 ? block.qs[byte] : block.qh[byte], digit) == 2);
  }
}

TEST_CASE("PTQ1_0 by hand") {
  BlockPTQ1_0 block;
  std::memset(block.qs, 0, sizeof(block.qs));
  std::memset(block.qh, 0, sizeof(block.qh));
  block.d = 0x3c00;
  block.qs[0] = 171;  // 162 = 20000 in base 3: digit 0 of byte 0 -> weight 0
  block.qs[16] = 86;  // 81 = 10000: weight 80 is 0
  block.qh[1] = 171;  // digit 0 of qh byte 1 -> weight 121
  const auto w = decoded(block);
  CHECK(w[0] == 1.f);
  CHECK(w[16] == -1.f);
  CHECK(w[80] == 0.f);
  CHECK(w[120] == -1.f);
  CHECK(w[121] == 1.f);
}

// Largest error of an encoder, as a share of the block's largest magnitude: half a step of the code
// plus the rounding of the stored scale (fp16: 2^-11; Q3_K also half a six-bit scale step, and
// -4..3 clamps half a step more above).
double error_bound(Format format) {
  constexpr double kScale = 0x1p-11;
  switch (format) {
    case Format::kQ8_0:
      return 0.5 / 127 + kScale;
    case Format::kMXFP8:
      return 1.0 / 16;  // four significant bits
    case Format::kMXFP4:
      return 1.0 / 5;  // half of the widest step, 4 to 6, is met by weights of 5 and more
    case Format::kQ2_K:
      // The range is at most 2 amax in 3 steps, so half a step is amax / 3; the step's own scale is
      // off by half of 1/8 of the largest (the encoder's coarser choice), half of that reaches a
      // weight in the middle of a step. Weights at both ends see less: 1/16 + 1/8.
      return 1.0 / 3 + 1.0 / 48 + 4 * kScale;
    case Format::kQ3_K:
      return 0.25 + 4 * 0.5 / 32 + kScale;
    default:
      return 0.5 + kScale;
  }
}

TEST_CASE("encoders stay within half a step, and encoding what was decoded changes nothing") {
  for (const Format format : kQuantised) {
    const FormatInfo& info = format_info(format);
    for (uint64_t trial = 0; trial < 50; ++trial) {
      CAPTURE(info.name);
      std::vector<float> in(info.block_weights), out(in.size()), again(in.size());
      // Scales stay normal fp16 numbers: the bound counts on their 11 bits.
      const float magnitude = std::ldexp(1.f, static_cast<int>(trial % 20) - 5);
      for (size_t i = 0; i < in.size(); ++i) in[i] = noise(trial * 1000 + i) * magnitude;
      std::vector<uint8_t> bytes(info.block_bytes), twice(info.block_bytes);
      encode_row(format, in.data(), bytes.data(), in.size());
      decode_row(format, bytes.data(), out.data(), out.size());
      float amax = 0;
      double worst = 0;
      for (size_t i = 0; i < in.size(); ++i) {
        amax = std::max(amax, std::fabs(in[i]));
        worst = std::max(worst, static_cast<double>(std::fabs(in[i] - out[i])));
      }
      CHECK(worst <= error_bound(format) * static_cast<double>(amax));
      encode_row(format, out.data(), twice.data(), out.size());
      decode_row(format, twice.data(), again.data(), again.size());
      // The K formats search their scales again. An MXFP4 block may come back with half the scale
      // and the same weights.
      if (format == Format::kMXFP4 || format == Format::kMXFP8) CHECK(again == out);
      if (format != Format::kQ3_K && format != Format::kQ2_K && format != Format::kMXFP4 &&
          format != Format::kMXFP8) {
        CHECK(twice == bytes);
        CHECK(again == out);
      }
    }
  }
}

// Q3_K finds its scales from extremes at code -4; blocks that have one in every sub-block come back
// bit for bit.
TEST_CASE("Q3_K: a block in canonical form survives decode and encode") {
  for (uint64_t trial = 0; trial < 50; ++trial) {
    std::vector<float> in(256);
    for (size_t i = 0; i < 256; ++i) {
      const int scale = i < 16 ? -32 : static_cast<int>(splitmix64(trial * 31 + i / 16) % 63) - 31;
      const int code = i % 16 == 5 ? -4 : static_cast<int>(splitmix64(trial * 257 + i) % 7) - 3;
      in[i] = 0.125f * static_cast<float>(scale * code);
    }
    BlockQ3_K block, twice;
    encode_block(in.data(), block);
    CHECK(decoded(block) == in);
    encode_block(decoded(block).data(), twice);
    CHECK(std::memcmp(&block, &twice, sizeof(block)) == 0);
  }
}

TEST_CASE("zeros encode to zeros and huge weights saturate instead of becoming infinite") {
  for (const Format format : kQuantised) {
    const FormatInfo& info = format_info(format);
    CAPTURE(info.name);
    std::vector<float> in(info.block_weights, 0.f), out(in.size(), 7.f);
    std::vector<uint8_t> bytes(info.block_bytes);
    encode_row(format, in.data(), bytes.data(), in.size());
    decode_row(format, bytes.data(), out.data(), out.size());
    CHECK(out == in);
    in.assign(in.size(), 1e30f);
    encode_row(format, in.data(), bytes.data(), in.size());
    decode_row(format, bytes.data(), out.data(), out.size());
    for (const float value : out) CHECK(std::isfinite(value));
  }
}

TEST_CASE("plain formats and rows at any address") {
  std::vector<float> in(64), out(64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = noise(i);
  std::vector<uint8_t> bytes(64 * 4 + 1);
  for (const Format format :
       {Format::kF32, Format::kF16, Format::kBF16, Format::kQ8_0, Format::kQ2_0, Format::kMXFP4}) {
    encode_row(format, in.data(), bytes.data() + 1, in.size());
    decode_row(format, bytes.data() + 1, out.data(), out.size());
    const double bound = format == Format::kF32    ? 0
                         : format == Format::kF16  ? 0x1p-11
                         : format == Format::kBF16 ? 0x1p-8
                                                   : error_bound(format);
    for (size_t i = 0; i < in.size(); ++i) {
      CHECK(std::fabs(static_cast<double>(in[i]) - static_cast<double>(out[i])) <= bound);
    }
  }
}

TEST_CASE("transcoding is decoding and encoding, over many stretches") {
  const size_t n = 3 * 4096 + 96;
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = noise(i);
  std::vector<uint8_t> eight(row_bytes(Format::kMXFP8, n).value()),
      expected(row_bytes(Format::kQ8_0, n).value());
  encode_row(Format::kMXFP8, values.data(), eight.data(), n);
  decode_row(Format::kMXFP8, eight.data(), values.data(), n);
  encode_row(Format::kQ8_0, values.data(), expected.data(), n);
  CHECK(transcoded(Format::kMXFP8, eight.data(), Format::kQ8_0, n) == expected);
}

}  // namespace
}  // namespace rota
