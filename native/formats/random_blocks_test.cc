// Random blocks are weights: finite, of a usual size, and repeatable.
#include "formats/random_blocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rota {
namespace {

double size_of(Format format, double rms) {
  constexpr size_t kWeights = size_t{64} * 1024;
  std::vector<uint8_t> blocks(row_bytes(format, kWeights).value());
  std::vector<float> w(kWeights);
  RandomBlocks(format, rms).fill(9, blocks.data(), blocks.size());
  decode_row(format, blocks.data(), w.data(), kWeights);
  double squares = 0;
  for (const float v : w) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares / kWeights);
}

// Half an octave, and what samples of 65,536 weights differ by.
TEST_CASE("random blocks of a stated size have it to half an octave, in every format") {
  for (const FormatInfo& info : all_formats()) {
    if (!is_weight_format(info.format)) continue;
    CAPTURE(info.name);
    for (const double rms : {0.008, 0.0140, 0.0208, 0.12, 1.0}) {
      const double off = std::log2(size_of(info.format, rms) / rms);
      CHECK(std::fabs(off) < 0.52);
    }
  }
}

// Else what all outputs of a matrix share would make all rows of a model alike.
TEST_CASE("random blocks have no mean in the formats that a few-bit model is made of") {
  for (const Format format : {Format::kQ8_0, Format::kQ3_K, Format::kQ2_0, Format::kPTQ1_0}) {
    CAPTURE(format_info(format).name);
    const size_t n = size_t{256} * 1024;
    std::vector<uint8_t> blocks(row_bytes(format, n).value());
    random_blocks(format, 3, blocks.data(), blocks.size());
    std::vector<float> w(n);
    decode_row(format, blocks.data(), w.data(), n);
    double sum = 0, squares = 0;
    for (const float v : w) {
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
    // Q3_K's codes and scales are each half a step off; four standard errors are 0.008.
    CHECK(std::fabs(sum / n) < 0.015 * std::sqrt(squares / n));
  }
}

TEST_CASE("random blocks are weights that a model could have, in every format") {
  for (const FormatInfo& info : all_formats()) {
    CAPTURE(info.name);
    CHECK(has_random_blocks(info.format) == is_weight_format(info.format));
    if (!is_weight_format(info.format)) continue;
    const size_t n = size_t{256} * 1024;
    std::vector<uint8_t> blocks(row_bytes(info.format, n).value());
    random_blocks(info.format, 5, blocks.data(), blocks.size());
    std::vector<float> w(n);
    decode_row(info.format, blocks.data(), w.data(), n);
    double squares = 0;
    float largest = 0;
    for (const float v : w) {
      squares += static_cast<double>(v) * static_cast<double>(v);
      largest = std::max(largest, std::fabs(v));
    }
    const double deviation = std::sqrt(squares / static_cast<double>(n));
    CHECK(deviation > 0.005);
    CHECK(deviation < 0.2);
    CHECK(largest < 2);

    std::vector<uint8_t> again(blocks.size()), other(blocks.size());
    random_blocks(info.format, 5, again.data(), again.size());
    random_blocks(info.format, 6, other.data(), other.size());
    CHECK(again == blocks);
    CHECK(other != blocks);
  }
}

}  // namespace
}  // namespace rota
