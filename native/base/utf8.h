// UTF-8, strictly: overlong forms, surrogates and cut sequences are no text. And foreign text as a
// line that a terminal may be given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rota {

// Length of the sequence at the front and its code point; length 0 when the bytes are no UTF-8. Not
// for empty text.
std::pair<size_t, uint32_t> decode_utf8(std::string_view text);
bool is_utf8(std::string_view text);
// code <= 0x10ffff and no surrogate.
std::string encode_utf8(uint32_t code);

// For an error that quotes a file's own names: one line, whatever they hold. Control characters
// (C0, C1 and DEL) and bytes that are no UTF-8 become "\\xNN", the rest stays.
std::string one_line(std::string_view text);

}  // namespace rota
