// Sizes from and to text.
#include "engines/size_value.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace rota {
namespace {

constexpr double kKiB = 1024.0, kMiB = kKiB * 1024, kGiB = kMiB * 1024, kTiB = kGiB * 1024;

std::string with_unit(double value, int digits, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, unit);
  return text;
}

}  // namespace

uint64_t SizeValue::of(uint64_t whole) const {
  if (!is_share) return bytes;
  return static_cast<uint64_t>(std::llround(share * static_cast<double>(whole)));
}

Result<SizeValue> parse_size(std::string_view text) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || !(number >= 0) || !std::isfinite(number)) {
    return Status(Code::kUsage, quoted + " is not a size: such as 25%, 512MiB, 1.5GiB or 0");
  }
  SizeValue size;
  if (unit == "%") {
    if (number > 100) return Status(Code::kUsage, quoted + " is more than 100%");
    size.is_share = true;
    size.share = number / 100;
    return size;
  }
  double scale = 0;
  if (unit == "B") scale = 1;
  if (unit == "KiB") scale = kKiB;
  if (unit == "MiB") scale = kMiB;
  if (unit == "GiB") scale = kGiB;
  if (unit == "TiB") scale = kTiB;
  if (unit.empty() && number == 0) return size;
  if (unit.empty()) {
    return Status(Code::kUsage, quoted + " has no unit: write " + std::string(text) + "MiB, " +
                                    std::string(text) + "GiB or a share such as 25%");
  }
  if (scale == 0) {
    return Status(Code::kUsage, quoted + ": unknown unit \"" + std::string(unit) +
                                    "\": KiB, MiB, GiB, TiB, B or %");
  }
  if (number * scale > 9e18) return Status(Code::kUsage, quoted + " is larger than any memory");
  size.bytes = static_cast<uint64_t>(std::llround(number * scale));
  return size;
}

std::string format_gib(uint64_t bytes) {
  return with_unit(static_cast<double>(bytes) / kGiB, 2, "GiB");
}

std::string format_size(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value >= kGiB) return with_unit(value / kGiB, 2, "GiB");
  if (value >= kMiB) return with_unit(value / kMiB, 1, "MiB");
  if (value >= kKiB) return with_unit(value / kKiB, 1, "KiB");
  return with_unit(value, 0, "B");
}

}  // namespace rota
