// MXFP4 and Q2_K against golden blocks bit for bit, and what their encoders hold exactly.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "formats/block.h"
#include "formats/quants.h"

namespace rota {
namespace {

#include "formats/golden/blocks_golden.inc"

template <size_t N, size_t Bytes, size_t Weights>
int mismatches(Format format, const uint8_t (&blocks)[N][Bytes],
               const uint32_t (&golden)[N][Weights]) {
  int wrong = 0;
  for (size_t b = 0; b < N; ++b) {
    // At an odd address: a row may start anywhere.
    std::vector<uint8_t> bytes(Bytes + 1);
    std::memcpy(bytes.data() + 1, blocks[b], Bytes);
    std::vector<float> out(Weights);
    decode_row(format, bytes.data() + 1, out.data(), Weights);
    for (size_t i = 0; i < Weights; ++i) {
      const bool same = std::isnan(out[i]) ? golden[b][i] == 0x7fc00000u
                                           : std::bit_cast<uint32_t>(out[i]) == golden[b][i];
      wrong += !same;
    }
  }
  return wrong;
}

TEST_CASE("decoding matches the golden blocks bit for bit") {
  CHECK(mismatches(Format::kMXFP4, kMxfp4Bytes, kMxfp4Weights) == 0);
  CHECK(mismatches(Format::kQ2_K, kQ2KBytes, kQ2KWeights) == 0);
}

TEST_CASE("MXFP4 by hand: weight j and weight j + 16 share a byte") {
  BlockMXFP4 block = {};
  block.e = 128;  // times 2
  block.qs[0] = 0x72;
  block.qs[1] = 0x0f;
  float w[32];
  decode_block(block, w);
  CHECK(w[0] == 2.f);
  CHECK(w[16] == 12.f);
  CHECK(w[1] == -12.f);
  CHECK(w[17] == 0.f);
}

// One expert of the released shape, and a row of its Engram table.
TEST_CASE("bytes of the released shapes") {
  const auto expert = [](Format f) {
    return 2 * 2304 * row_bytes(f, 5120).value() + 5120 * row_bytes(f, 2304).value();
  };
  CHECK(expert(Format::kMXFP4) == 18800640);
  CHECK(2304 * row_bytes(Format::kMXFP4, 5120).value() == 6266880);
  CHECK(expert(Format::kQ2_K) == 11612160);
  CHECK(row_bytes(Format::kMXFP4, 256).value() == 136);
}

std::vector<float> round_trip(Format format, const std::vector<float>& in) {
  std::vector<uint8_t> bytes(row_bytes(format, in.size()).value());
  encode_row(format, in.data(), bytes.data(), in.size());
  std::vector<float> out(in.size());
  decode_row(format, bytes.data(), out.data(), out.size());
  return out;
}

TEST_CASE("MXFP4 keeps what is on its grid, at every exponent") {
  constexpr float kGrid[8] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
  for (int exponent = -126; exponent <= 125; ++exponent) {
    std::vector<float> in(32);
    for (size_t i = 0; i < in.size(); ++i) {
      const uint64_t u = splitmix64(static_cast<uint64_t>(exponent + 200) * 64 + i);
      in[i] = std::ldexp((u & 8) != 0 ? -kGrid[u % 8] : kGrid[u % 8], exponent);
    }
    CHECK(round_trip(Format::kMXFP4, in) == in);
  }
}

// Steps and offsets that are power-of-two multiples of each other, both ends of the code range used
// in every sub-block: the encoder must find them.
TEST_CASE("Q2_K keeps two-bit codes with power-of-two steps") {
  for (uint64_t trial = 0; trial < 50; ++trial) {
    std::vector<float> in(256);
    for (size_t i = 0; i < 256; ++i) {
      const auto code = i % 16 == 3 ? 0u : i % 16 == 7 ? 3u : splitmix64(trial * 999 + i) % 4;
      const float step = std::ldexp(1.f, static_cast<int>((i / 16 + trial) % 4) - 5);
      in[i] = step * (static_cast<float>(code) - 1.f);
    }
    CHECK(round_trip(Format::kQ2_K, in) == in);
  }
}

TEST_CASE("MXFP4 takes the smallest scale that does not saturate") {
  std::vector<float> in(32, 0.f);
  for (const auto& [value, scale] :
       {std::pair{6.f, 1.f}, {6.0001f, 2.f}, {3.f, .5f}, {3.1f, 1.f}}) {
    in[5] = value;
    BlockMXFP4 block;
    encode_block(in.data(), block);
    CHECK(std::ldexp(1.f, block.e - 127) == scale);
  }
}

}  // namespace
}  // namespace rota
