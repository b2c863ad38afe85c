// A size as a user writes it: bytes with a binary unit, a share of something, a count of experts,
// or the machine's choice. Owns the text form only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace rota {

struct SizeValue {
  enum class Kind { kBytes, kShare, kCount, kAuto };
  Kind kind = Kind::kBytes;
  uint64_t bytes = 0;  // kBytes
  double share = 0;    // kShare, 0..1
  int count = 0;       // kCount

  static SizeValue share_of_all(double share) { return {Kind::kShare, 0, share, 0}; }

  // Of bytes or a share, rounded to the nearest byte. A count limits no bytes, and what the machine
  // chooses is not known here: UINT64_MAX.
  uint64_t of(uint64_t whole) const;
  int limit() const;  // of a count; INT_MAX otherwise
};

// The forms that a value may have beside bytes.
struct SizeForms {
  bool share = false, count = false, machine = false;
};

// "512MiB", "1.5GiB", "4096B", "0"; "25%"; "4288x"; "auto". A number without a unit is refused with
// a hint. kUsage, without the flag's name.
Result<SizeValue> parse_size(std::string_view text, const SizeForms& forms);

std::string format_gib(uint64_t bytes);   // "1.53 GiB"
std::string format_size(uint64_t bytes);  // "1.53 GiB", "14.2 MiB", "900 B": the unit that suits
std::string size_text(const SizeValue& size);  // as parse_size reads it, in bytes or a share

}  // namespace rota
