// Random words, then sane scales.
#include "formats/random_blocks.h"

#include <cstring>

#include "base/check.h"
#include "base/rng.h"

namespace rota {
namespace {

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

void set_fp16_scales(const ScaleRule& rule, uint8_t* blocks, size_t n, size_t block_bytes) {
  for (size_t b = 0; b < n; ++b) {
    for (const int offset : rule.offsets) {
      if (offset < 0) continue;
      set_exponents<uint16_t>(blocks + b * block_bytes + offset, 1, kFp16ScaleKeep,
                              static_cast<uint16_t>(rule.exponent << 10));
    }
  }
}

bool tame(Format format, uint8_t* blocks, size_t n) {
  const size_t bytes = format_info(format).block_bytes;
  for (const ScaleRule& rule : kFp16Scales) {
    if (rule.format != format) continue;
    set_fp16_scales(rule, blocks, n, bytes);
    return true;
  }
  switch (format) {
    case Format::kF32:
      set_exponents<uint32_t>(blocks, n, 0x807FFFFFu, 121u << 23);
      return true;
    case Format::kF16:
      set_exponents<uint16_t>(blocks, n, kFp16Keep, 9u << 10);
      return true;
    case Format::kBF16:
      set_exponents<uint16_t>(blocks, n, 0x807Fu, 121u << 7);
      return true;
    case Format::kMXFP4:  // an exponent a block, 2^(e - 127), and codes up to 6
      for (size_t b = 0; b < n; ++b) {
        blocks[b * bytes] = static_cast<uint8_t>(119 + (blocks[b * bytes] & 1));
      }
      return true;
    case Format::kMXFP8:  // codes up to 448; all bits but the sign set are no number
      for (size_t b = 0; b < n; ++b) {
        uint8_t* const block = blocks + b * bytes;
        block[0] = static_cast<uint8_t>(116 + (block[0] & 1));
        for (size_t q = 1; q < bytes; ++q) {
          if ((block[q] & 0x7F) == 0x7F) block[q] = static_cast<uint8_t>(block[q] ^ 1);
        }
      }
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_random_blocks(Format format) { return tame(format, nullptr, 0); }

void random_blocks(Format format, uint64_t seed, uint8_t* out, size_t bytes) {
  const size_t block = format_info(format).block_bytes;
  ROTA_CHECK(bytes % block == 0, "bytes", bytes, "of blocks of", block);
  uint64_t state = splitmix64(seed);
  for (size_t i = 0; i < bytes; i += sizeof state) {
    state += kGoldenGamma;
    const uint64_t bits = splitmix64_mix(state);
    std::memcpy(out + i, &bits, bytes - i < sizeof bits ? bytes - i : sizeof bits);
  }
  ROTA_CHECK(tame(format, out, bytes / block), "no rule for", format_info(format).name);
}

}  // namespace rota
