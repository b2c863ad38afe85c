// Random blocks are weights: finite, of a usual size, and repeatable.
#include "formats/random_blocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rota {
namespace {

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
