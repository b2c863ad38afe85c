// The table of formats, and the loops over a row's blocks.
#include "formats/block.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "formats/numbers.h"
#include "formats/quants.h"

namespace rota {
namespace {

constexpr std::array<FormatInfo, 12> kFormats = {{
    {Format::kF32, "F32", 1, 4},
    {Format::kF16, "F16", 1, 2},
    {Format::kQ8_0, "Q8_0", 32, 34},
    {Format::kQ2_K, "Q2_K", 256, 84},
    {Format::kQ3_K, "Q3_K", 256, 110},
    {Format::kI32, "I32", 1, 4},
    {Format::kI64, "I64", 1, 8},
    {Format::kBF16, "BF16", 1, 2},
    {Format::kMXFP4, "MXFP4", 32, 17},
    {Format::kQ2_0, "Q2_0", 64, 18},
    {Format::kPTQ1_0, "PTQ1_0", 128, 28},
    {Format::kMXFP8, "MXFP8", 32, 33},
}};

// Type numbers of ggml that a file may carry and we do not decode.
constexpr std::pair<uint32_t, const char*> kForeignTypes[] = {
    {2, "Q4_0"},   {3, "Q4_1"},    {6, "Q5_0"},   {7, "Q5_1"},     {9, "Q8_1"},    {12, "Q4_K"},
    {13, "Q5_K"},  {14, "Q6_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
    {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},
    {25, "I16"},   {28, "F64"},    {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {142, "PQ2_0"},
};

template <typename Block>
void decode_blocks(const void* in, float* out, size_t n) {
  const auto* bytes = static_cast<const uint8_t*>(in);
  for (size_t i = 0; i < n; i += Block::kWeights, bytes += sizeof(Block)) {
    Block block;  // a row may start at any address
    std::memcpy(&block, bytes, sizeof(Block));
    decode_block(block, out + i);
  }
}

template <typename Block>
void encode_blocks(const float* in, void* out, size_t n) {
  auto* bytes = static_cast<uint8_t*>(out);
  for (size_t i = 0; i < n; i += Block::kWeights, bytes += sizeof(Block)) {
    Block block;
    encode_block(in + i, block);
    std::memcpy(bytes, &block, sizeof(Block));
  }
}

template <float (*ToFloat)(uint16_t)>
void decode_halves(const void* in, float* out, size_t n) {
  const auto* bytes = static_cast<const uint8_t*>(in);
  for (size_t i = 0; i < n; ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + 2 * i, 2);
    out[i] = ToFloat(half);
  }
}

template <uint16_t (*FromFloat)(float)>
void encode_halves(const float* in, void* out, size_t n) {
  auto* bytes = static_cast<uint8_t*>(out);
  for (size_t i = 0; i < n; ++i) {
    const uint16_t half = FromFloat(in[i]);
    std::memcpy(bytes + 2 * i, &half, 2);
  }
}

void check_length(Format format, size_t n) {
  const FormatInfo& info = format_info(format);
  ROTA_CHECK(n % info.block_weights == 0, info.name, "row length", n);
}

}  // namespace

const FormatInfo* format_info(uint32_t ggml_type) {
  for (const FormatInfo& info : kFormats) {
    if (static_cast<uint32_t>(info.format) == ggml_type) return &info;
  }
  return nullptr;
}

const FormatInfo& format_info(Format format) {
  const FormatInfo* info = format_info(static_cast<uint32_t>(format));
  ROTA_CHECK(info != nullptr, "format", static_cast<uint32_t>(format));
  return *info;
}

std::span<const FormatInfo> all_formats() { return kFormats; }

std::string ggml_type_name(uint32_t ggml_type) {
  if (const FormatInfo* info = format_info(ggml_type)) return info->name;
  for (const auto& [type, name] : kForeignTypes) {
    if (type == ggml_type) return name;
  }
  return "unknown";
}

Result<Format> parse_format(std::string_view name) {
  std::string known, upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  for (const FormatInfo& info : kFormats) {
    if (upper == info.name) return info.format;
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  return Status(Code::kUsage, "unknown format '" + std::string(name) + "'; there are " + known);
}

bool is_weight_format(Format format) { return format != Format::kI32 && format != Format::kI64; }

Result<size_t> row_bytes(Format format, uint64_t n) {
  const FormatInfo& info = format_info(format);
  if (n % info.block_weights != 0) {
    return Status(Code::kLoad, std::string(info.name) + " needs rows of a multiple of " +
                                   std::to_string(info.block_weights) + " weights, not " +
                                   std::to_string(n));
  }
  const uint64_t blocks = n / info.block_weights;
  if (blocks > UINT64_MAX / info.block_bytes) {
    return Status(Code::kLoad, "a row of " + std::to_string(n) + " weights is too long");
  }
  return static_cast<size_t>(blocks * info.block_bytes);
}

void decode_row(Format format, const void* in, float* out, size_t n) {
  check_length(format, n);
  switch (format) {
    case Format::kF32:
      std::memcpy(out, in, n * sizeof(float));
      return;
    case Format::kF16:
      return decode_halves<fp16_to_float>(in, out, n);
    case Format::kBF16:
      return decode_halves<bf16_to_float>(in, out, n);
    case Format::kQ8_0:
      return decode_blocks<BlockQ8_0>(in, out, n);
    case Format::kQ2_0:
      return decode_blocks<BlockQ2_0>(in, out, n);
    case Format::kMXFP4:
      return decode_blocks<BlockMXFP4>(in, out, n);
    case Format::kMXFP8:
      return decode_blocks<BlockMXFP8>(in, out, n);
    case Format::kQ2_K:
      return decode_blocks<BlockQ2_K>(in, out, n);
    case Format::kQ3_K:
      return decode_blocks<BlockQ3_K>(in, out, n);
    case Format::kPTQ1_0:
      return decode_blocks<BlockPTQ1_0>(in, out, n);
    case Format::kI32:
    case Format::kI64:
      break;
  }
  ROTA_CHECK(false, "integers are not weights:", format_info(format).name);
}

void encode_row(Format format, const float* in, void* out, size_t n) {
  check_length(format, n);
  switch (format) {
    case Format::kF32:
      std::memcpy(out, in, n * sizeof(float));
      return;
    case Format::kF16:
      return encode_halves<float_to_fp16>(in, out, n);
    case Format::kBF16:
      return encode_halves<float_to_bf16>(in, out, n);
    case Format::kQ8_0:
      return encode_blocks<BlockQ8_0>(in, out, n);
    case Format::kQ2_0:
      return encode_blocks<BlockQ2_0>(in, out, n);
    case Format::kMXFP4:
      return encode_blocks<BlockMXFP4>(in, out, n);
    case Format::kMXFP8:
      return encode_blocks<BlockMXFP8>(in, out, n);
    case Format::kQ2_K:
      return encode_blocks<BlockQ2_K>(in, out, n);
    case Format::kQ3_K:
      return encode_blocks<BlockQ3_K>(in, out, n);
    case Format::kPTQ1_0:
      return encode_blocks<BlockPTQ1_0>(in, out, n);
    case Format::kI32:
    case Format::kI64:
      break;
  }
  ROTA_CHECK(false, "integers are not weights:", format_info(format).name);
}

std::vector<uint8_t> transcoded(Format from, const void* in, Format to, size_t n) {
  constexpr size_t kStretch = 4096;  // a multiple of every block
  check_length(from, n);
  const FormatInfo &source = format_info(from), &target = format_info(to);
  std::vector<uint8_t> out(n / target.block_weights * target.block_bytes);
  std::vector<float> floats(kStretch);
  for (size_t first = 0; first < n; first += kStretch) {
    const size_t count = std::min(kStretch, n - first);
    decode_row(from,
               static_cast<const uint8_t*>(in) + first / source.block_weights * source.block_bytes,
               floats.data(), count);
    encode_row(to, floats.data(), out.data() + first / target.block_weights * target.block_bytes,
               count);
  }
  return out;
}

}  // namespace rota
