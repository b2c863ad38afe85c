// Block formats of GGUF tensors: sizes, exact decoding, reference encoding. Bit layouts:
// native/formats/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rota {

// Values are ggml's type numbers, so that a header's number is the enum's value.
enum class Format : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kI32 = 26,
  kI64 = 27,
  kBF16 = 30,
  kMXFP4 = 39,
  kQ2_0 = 42,
  kPTQ1_0 = 143,
  kMXFP8 = 210,
};

struct FormatInfo {
  Format format;
  const char* name;        // "Q2_0"
  uint32_t block_weights;  // weights a block
  uint32_t block_bytes;
};

// nullptr when the number is none of ours.
const FormatInfo* format_info(uint32_t ggml_type);
const FormatInfo& format_info(Format format);
// Every format of ours, in the order of their numbers.
std::span<const FormatInfo> all_formats();
// The name of any ggml type number, ours or not; "unknown" for the rest. For messages.
std::string ggml_type_name(uint32_t ggml_type);
// By name, in capitals or not. kUsage, with the names that exist.
Result<Format> parse_format(std::string_view name);
// True for the formats that decode to float weights (all but the integers).
bool is_weight_format(Format format);

// Bytes of a row of n weights; n must be a multiple of block_weights (kLoad otherwise, naming
// both).
Result<size_t> row_bytes(Format format, uint64_t n);

// Exact: float(out[i]) is the value the format defines. n multiple of block_weights.
void decode_row(Format format, const void* in, float* out, size_t n);
// Round-to-nearest reference encoder (scale = group amax or the format's usual reference rule).
void encode_row(Format format, const float* in, void* out, size_t n);
// n weights of `in` decoded and encoded by the two above, a stretch at a time.
std::vector<uint8_t> transcoded(Format from, const void* in, Format to, size_t n);

}  // namespace rota
