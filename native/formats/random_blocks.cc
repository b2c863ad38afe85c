// Random words, then sane scales.
#include "formats/random_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/rng.h"

namespace rota {
namespace {

constexpr int kMostShift = 32;  // further no exponent of eight bits leaves its range

// Random bits leave a scale's exponent random: infinities, or weights that vanish. These are the
// fields of a block that carry an exponent.
struct ScaleRule {
  Format format;
  int offsets[2];  // of 16-bit floats; -1: none
  int exponent;    // biased
};
constexpr ScaleRule kFp16Scales[] = {
    {Format::kQ8_0, {0, -1}, 3},     // codes of +-127
    {Format::kQ2_K, {80, 82}, 5},    // d and dmin, behind 16 scales and 64 bytes of codes
    {Format::kQ3_K, {108, -1}, 4},   // scales of +-32, codes of +-4
    {Format::kQ2_0, {0, -1}, 9},     // codes -1 .. 2
    {Format::kPTQ1_0, {26, -1}, 9},  // codes -1 .. 1
};

// Formats whose weights are floats: sign and mantissa stay random.
template <typename Word>
void set_exponents(uint8_t* at, size_t n, Word keep, Word exponent) {
  for (size_t i = 0; i < n; ++i, at += sizeof(Word)) {
    Word bits;
    std::memcpy(&bits, at, sizeof bits);
    bits = static_cast<Word>((bits & keep) | exponent);
    std::memcpy(at, &bits, sizeof bits);
  }
}

constexpr uint16_t kFp16Keep = 0x83FF, kFp16ScaleKeep = 0x03FF;  // a scale is not negative

void set_fp16_scales(const ScaleRule& rule, int shift, uint8_t* blocks, size_t n,
                     size_t block_bytes) {
  const int exponent = std::clamp(rule.exponent + shift, 1, 30);  // neither subnormal nor infinite
  for (size_t b = 0; b < n; ++b) {
    for (const int offset : rule.offsets) {
      if (offset < 0) continue;
      set_exponents<uint16_t>(blocks + b * block_bytes + offset, 1, kFp16ScaleKeep,
                              static_cast<uint16_t>(exponent << 10));
    }
  }
}

// Codes -1 .. 2 alike would have a mean of a half: every output of a matrix would share a part, and
// all rows of a model grow alike. Of sixteen, 6 are -1, 5 are 0, 4 are 1 and 1 is 2.
uint64_t centred_q2_0(uint64_t bits) {
  constexpr uint64_t kLow = 0x5555555555555555u;
  const uint64_t turned = std::rotl(bits, 23);
  const uint64_t low = bits & kLow, high = (bits >> 1) & kLow, two = low & high;
  const uint64_t a = turned & kLow, b = (turned >> 1) & kLow;
  return (low & ~(two & (a ^ b))) | ((high & ~(two & ~(a & b))) << 1);
}

void centre_q2_0(uint8_t* blocks, size_t n, size_t block_bytes) {
  for (uint8_t* at = blocks; at < blocks + n * block_bytes; at += block_bytes) {
    uint64_t codes[2];  // behind the scale
    std::memcpy(codes, at + 2, sizeof codes);
    for (uint64_t& word : codes) word = centred_q2_0(word);
    std::memcpy(at + 2, codes, sizeof codes);
  }
}

bool tame(Format format, int shift, uint8_t* blocks, size_t n) {
  const size_t bytes = format_info(format).block_bytes;
  if (format == Format::kQ2_0) centre_q2_0(blocks, n, bytes);
  for (const ScaleRule& rule : kFp16Scales) {
    if (rule.format != format) continue;
    set_fp16_scales(rule, shift, blocks, n, bytes);
    return true;
  }
  switch (format) {
    case Format::kF32:
      set_exponents<uint32_t>(blocks, n, 0x807FFFFFu, static_cast<uint32_t>(121 + shift) << 23);
      return true;
    case Format::kF16:
      set_exponents<uint16_t>(blocks, n, kFp16Keep,
                              static_cast<uint16_t>(std::clamp(9 + shift, 1, 30) << 10));
      return true;
    case Format::kBF16:
      set_exponents<uint16_t>(blocks, n, 0x807Fu, static_cast<uint16_t>((121 + shift) << 7));
      return true;
    case Format::kMXFP4:  // an exponent a block, 2^(e - 127), and codes up to 6
      for (size_t b = 0; b < n; ++b) {
        blocks[b * bytes] = static_cast<uint8_t>(119 + shift + (blocks[b * bytes] & 1));
      }
      return true;
    case Format::kMXFP8:  // codes up to 448; all bits but the sign set are no number
      for (size_t b = 0; b < n; ++b) {
        uint8_t* const block = blocks + b * bytes;
        block[0] = static_cast<uint8_t>(116 + shift + (block[0] & 1));
        for (size_t q = 1; q < bytes; ++q) {
          if ((block[q] & 0x7F) == 0x7F) block[q] = static_cast<uint8_t>(block[q] ^ 1);
        }
      }
      return true;
    default:
      return false;
  }
}

void fill(Format format, int shift, uint64_t seed, uint8_t* out, size_t bytes) {
  const size_t block = format_info(format).block_bytes;
  ROTA_CHECK(bytes % block == 0, "bytes", bytes, "of blocks of", block);
  uint64_t state = splitmix64(seed);
  for (size_t i = 0; i < bytes; i += sizeof state) {
    state += kGoldenGamma;
    const uint64_t bits = splitmix64_mix(state);
    std::memcpy(out + i, &bits, bytes - i < sizeof bits ? bytes - i : sizeof bits);
  }
  ROTA_CHECK(tame(format, shift, out, bytes / block), "no rule for", format_info(format).name);
}

// Root mean square of weights without a shift, of a sample that is always the same.
double usual_size(Format format) {
  constexpr size_t kWeights = size_t{1} << 16;
  std::vector<uint8_t> blocks(row_bytes(format, kWeights).value());
  std::vector<float> weights(kWeights);
  fill(format, 0, 1, blocks.data(), blocks.size());
  decode_row(format, blocks.data(), weights.data(), kWeights);
  double squares = 0;
  for (const float w : weights) squares += static_cast<double>(w) * static_cast<double>(w);
  return std::sqrt(squares / kWeights);
}

}  // namespace

bool has_random_blocks(Format format) { return tame(format, 0, nullptr, 0); }

void random_blocks(Format format, uint64_t seed, uint8_t* out, size_t bytes) {
  fill(format, 0, seed, out, bytes);
}

RandomBlocks::RandomBlocks(Format format, double rms)
    : format_(format),
      shift_(std::clamp(static_cast<int>(std::lround(std::log2(rms / usual_size(format)))),
                        -kMostShift, kMostShift)) {}

void RandomBlocks::fill(uint64_t seed, uint8_t* out, size_t bytes) const {
  rota::fill(format_, shift_, seed, out, bytes);
}

}  // namespace rota
