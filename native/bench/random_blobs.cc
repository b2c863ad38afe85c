// Random words over a blob, then sane scales.
#include "bench/random_blobs.h"

#include <cstring>
#include <string>

#include "base/rng.h"

namespace rota {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kBlobAlignment = 64;

// Random bits leave a scale's exponent random: infinities, or weights that vanish. These are the
// fields of a block that carry an exponent.
struct ScaleRule {
  uint32_t ggml_type;
  int offsets[2];  // of 16-bit floats; -1: none
  int exponent;    // biased
};
constexpr ScaleRule kFp16Scales[] = {
    {8, {0, -1}, 3},     // Q8_0: codes of +-127
    {10, {80, 82}, 5},   // Q2_K: d and dmin, behind 16 scales and 64 bytes of codes
    {11, {108, -1}, 4},  // Q3_K: scales of +-32, codes of +-4
    {42, {0, -1}, 9},    // Q2_0: codes -1 .. 2
    {143, {26, -1}, 9},  // PTQ1_0: codes -1 .. 1
};

void set_fp16_exponent(uint8_t* at, int exponent) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  bits = static_cast<uint16_t>((bits & 0x03FF) | (exponent << 10));
  std::memcpy(at, &bits, sizeof bits);
}

// Formats whose weights are floats: sign and mantissa stay random.
template <typename Word>
void set_float_exponents(uint8_t* at, size_t n, Word keep, Word exponent) {
  for (size_t i = 0; i < n; ++i, at += sizeof(Word)) {
    Word bits;
    std::memcpy(&bits, at, sizeof bits);
    bits = static_cast<Word>((bits & keep) | exponent);
    std::memcpy(at, &bits, sizeof bits);
  }
}

void random_words(uint8_t* out, size_t bytes, uint64_t seed) {
  uint64_t state = splitmix64(seed);
  for (size_t i = 0; i < bytes; i += sizeof state) {
    state += kGoldenGamma;
    const uint64_t bits = splitmix64_mix(state);
    std::memcpy(out + i, &bits, bytes - i < sizeof bits ? bytes - i : sizeof bits);
  }
}

}  // namespace

bool tame_scales(Format format, uint8_t* blocks, size_t n) {
  const auto type = static_cast<uint32_t>(format);
  const size_t bytes = format_info(format).block_bytes;
  for (const ScaleRule& rule : kFp16Scales) {
    if (rule.ggml_type != type) continue;
    for (size_t b = 0; b < n; ++b) {
      for (const int offset : rule.offsets) {
        if (offset >= 0) set_fp16_exponent(blocks + b * bytes + offset, rule.exponent);
      }
    }
    return true;
  }
  constexpr uint32_t kMxfp4 = 39;
  switch (type) {
    case static_cast<uint32_t>(Format::kF32):
      set_float_exponents<uint32_t>(blocks, n, 0x807FFFFFu, 121u << 23);
      return true;
    case static_cast<uint32_t>(Format::kF16):
      set_float_exponents<uint16_t>(blocks, n, 0x83FFu, 9u << 10);
      return true;
    case static_cast<uint32_t>(Format::kBF16):
      set_float_exponents<uint16_t>(blocks, n, 0x807Fu, 121u << 7);
      return true;
    case kMxfp4:  // an exponent a block, 2^(e - 127), and codes up to 6
      for (size_t b = 0; b < n; ++b) {
        blocks[b * bytes] = static_cast<uint8_t>(119 + (blocks[b * bytes] & 1));
      }
      return true;
    default:
      return false;
  }
}

Result<RandomBlobs> RandomBlobs::allocate(uint64_t bytes, BlobShape shape, bool huge_pages) {
  RandomBlobs blobs;
  blobs.shape_ = shape;
  const uint64_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  ROTA_ASSIGN_OR_RETURN(blobs.memory_, AlignedBuffer::allocate(whole, kHugePage, huge_pages));
  return blobs;
}

Status RandomBlobs::fill(Format format, uint64_t seed, ThreadPool& threads) {
  ROTA_ASSIGN_OR_RETURN(layout_, blob_layout(format, format, format, shape_.dim, shape_.moe_inter));
  stride_ = (layout_.bytes + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
  count_ = memory_.size() / stride_;
  const FormatInfo& info = format_info(format);
  if (count_ < 2) {
    return Status(Code::kUsage, std::string(info.name) + ": " + std::to_string(memory_.size()) +
                                    " bytes hold fewer than two experts of " +
                                    std::to_string(layout_.bytes));
  }
  if (!tame_scales(format, nullptr, 0)) {
    return Status(Code::kUsage, std::string(info.name) + ": no rule for random blocks of it");
  }
  threads.run(static_cast<int>(count_), [&](int i) {
    uint8_t* at = memory_.data() + static_cast<size_t>(i) * stride_;
    random_words(at, layout_.bytes, splitmix64(seed) + static_cast<uint64_t>(i));
    (void)tame_scales(format, at, layout_.bytes / info.block_bytes);
  });
  return Status();
}

}  // namespace rota
