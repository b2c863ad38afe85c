// A size as a user writes it: bytes with a binary unit, or a share of something. Owns the text form
// only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace rota {

struct SizeValue {
  bool is_share = false;
  double share = 0;    // 0..1, when is_share
  uint64_t bytes = 0;  // otherwise

  // A share is rounded to the nearest byte.
  uint64_t of(uint64_t whole) const;
};

// "25%", "512MiB", "1.5GiB", "4096B", "0". A number without a unit is refused with a hint. kUsage,
// without the flag's name.
Result<SizeValue> parse_size(std::string_view text);

std::string format_gib(uint64_t bytes);   // "1.53 GiB"
std::string format_size(uint64_t bytes);  // "1.53 GiB", "14.2 MiB", "900 B": the unit that suits

}  // namespace rota
