// Strict decoding and encoding of single code points.
#include "base/utf8.h"

#include <algorithm>
#include <cstdio>

namespace rota {

std::pair<size_t, uint32_t> decode_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {0, 0};
  uint32_t code = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || code > 0x10ffff || surrogate) return {0, 0};
  return {length, code};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = decode_utf8(text).first;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const auto [length, code] = decode_utf8(text);
    const size_t take = std::max<size_t>(1, length);
    if (length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      for (const char c : text.substr(0, take)) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(c) & 0xffu);
        line += escaped;
      }
    } else {
      line += text.substr(0, take);
    }
    text.remove_prefix(take);
  }
  return line;
}

std::string encode_utf8(uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  const int length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  constexpr uint8_t kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  std::string out;
  for (int i = length - 1; i >= 0; --i) {
    const uint32_t six = (code >> (6 * i)) & (i == length - 1 ? 0xffu : 0x3fu);
    out += static_cast<char>(six | (i == length - 1 ? kLead[length] : 0x80u));
  }
  return out;
}

}  // namespace rota
