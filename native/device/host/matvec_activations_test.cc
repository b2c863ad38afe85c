// Rounding of activations: the same row whole, by pieces and without vector instructions, to the
// end of its last chunk.
#include "device/host/matvec_activations.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/rng.h"

namespace rota {
namespace {

constexpr Format kFormats[] = {Format::kQ8_0, Format::kQ2_0, Format::kQ3_K, Format::kPTQ1_0,
                               Format::kMXFP4};

// Two buffers of a quantised row, of other bytes than any row has behind its end.
struct TwoRows {
  size_t bytes;
  AlignedBuffer one, other;
  TwoRows(RowLayout layout, size_t k)
      : bytes(quantised_row_bytes(layout, k)),
        one(AlignedBuffer::allocate(bytes).value()),
        other(AlignedBuffer::allocate(bytes).value()) {
    std::memset(one.data(), 0xff, bytes);
    std::memset(other.data(), 0xff, bytes);
  }
  bool same() const { return std::memcmp(one.data(), other.data(), bytes) == 0; }
};

std::vector<float> random_row(size_t k) {
  std::vector<float> x(k);
  for (size_t i = 0; i < k; ++i) x[i] = static_cast<float>(2 * unit_double(splitmix64(i)) - 1);
  return x;
}
// Ties, of a largest of 32512.
std::vector<float> ties(size_t k) {
  std::vector<float> x(k);
  for (size_t i = 0; i < k; ++i) {
    x[i] = i % 256 == 0 ? 32512.f : 0.5f * static_cast<float>(i % 511) - 90;
  }
  return x;
}

// 768: PTQ1_0's last chunk has but half of its values. 896: and one more block.
TEST_CASE("rows quantised by pieces, and without vector instructions, are the row") {
  for (const Format f : kFormats) {
    for (const size_t k : {1024u, 768u, 896u}) {
      if (k % format_info(f).block_weights != 0) continue;
      CAPTURE(format_info(f).name);
      CAPTURE(k);
      const RowLayout layout = row_layout(f);
      for (const std::vector<float>& x : {random_row(k), ties(k)}) {
        TwoRows pieces(layout, k), portable(layout, k);
        CHECK(pieces.bytes % 64 == 0);
        quantise_row(layout, x.data(), k, 0, k, pieces.one.data());
        // The last piece first: the end of a row is not what was written last.
        for (size_t end = k; end > 0; end = (end - 1) / 256 * 256) {
          quantise_row(layout, x.data(), k, (end - 1) / 256 * 256, end, pieces.other.data());
        }
        CHECK(pieces.same());
        quantise_row(layout, x.data(), k, 0, k, portable.one.data());
        quantise_row_portable(layout, x.data(), k, 0, k, portable.other.data());
        CHECK(portable.same());
      }
    }
  }
}

TEST_CASE("every layout holds every value of its chunk once") {
  for (const Format f : kFormats) {
    const RowLayout layout = row_layout(f);
    std::vector<int> count(chunk_positions(layout));
    for (size_t p = 0; p < count.size(); ++p) {
      ++count[static_cast<size_t>(chunk_order(layout)[p])];
    }
    for (const int n : count) CHECK(n == 1);
  }
}

}  // namespace
}  // namespace rota
