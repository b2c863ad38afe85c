// Sizes from and to text.
#include "engines/size_value.h"

#include <charconv>
#include <climits>
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
  switch (kind) {
    case Kind::kBytes:
      return bytes;
    case Kind::kShare:
      return static_cast<uint64_t>(std::llround(share * static_cast<double>(whole)));
    case Kind::kCount:
    case Kind::kAuto:
      break;
  }
  return UINT64_MAX;
}

int SizeValue::limit() const { return kind == Kind::kCount ? count : INT_MAX; }

namespace {

std::string quote(std::string_view text) { return "\"" + std::string(text) + "\""; }

// "such as 25%, 512MiB, 1.5GiB or 0", of the forms that are taken.
std::string examples(const SizeForms& forms) {
  std::string list = forms.share ? "25%, " : "";
  if (forms.count) list += "4288x (experts), ";
  list += forms.machine ? "512MiB, 1.5GiB, 0 or auto" : "512MiB, 1.5GiB or 0";
  return "such as " + list;
}

double scale_of(std::string_view unit) {
  if (unit == "B") return 1;
  if (unit == "KiB") return kKiB;
  if (unit == "MiB") return kMiB;
  if (unit == "GiB") return kGiB;
  return unit == "TiB" ? kTiB : 0;
}

Result<SizeValue> bytes_of(std::string_view text, double number, std::string_view unit,
                           const SizeForms& forms) {
  SizeValue size;
  if (unit.empty() && number == 0) return size;
  const std::string word(text);
  if (unit.empty()) {
    const std::string count = forms.count ? word + "x for a count of experts, " : "";
    const std::string share = forms.share ? " or a share such as 25%" : "";
    return Status(Code::kUsage, quote(text) + " has no unit: write " + count + word + "MiB, " +
                                    word + "GiB" + share);
  }
  const double scale = scale_of(unit);
  if (scale == 0) {
    return Status(Code::kUsage,
                  quote(text) + ": unknown unit " + quote(unit) + ": " + examples(forms));
  }
  if (number * scale > 9e18) {
    return Status(Code::kUsage, quote(text) + " is larger than any memory");
  }
  size.bytes = static_cast<uint64_t>(std::llround(number * scale));
  return size;
}

}  // namespace

Result<SizeValue> parse_size(std::string_view text, const SizeForms& forms) {
  if (forms.machine && text == "auto") return SizeValue{SizeValue::Kind::kAuto, 0, 0, 0};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || !(number >= 0) || !std::isfinite(number)) {
    return Status(Code::kUsage, quote(text) + " is not a size: " + examples(forms));
  }
  if (forms.share && unit == "%") {
    if (number > 100) return Status(Code::kUsage, quote(text) + " is more than 100%");
    return SizeValue::share_of_all(number / 100);
  }
  if (forms.count && unit == "x") {
    if (number != std::floor(number) || number > INT_MAX) {
      return Status(Code::kUsage, quote(text) + " is not a whole number of experts");
    }
    return SizeValue{SizeValue::Kind::kCount, 0, 0, static_cast<int>(number)};
  }
  return bytes_of(text, number, unit, forms);
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

std::string size_text(const SizeValue& size) {
  switch (size.kind) {
    case SizeValue::Kind::kBytes:
      return std::to_string(size.bytes) + "B";
    case SizeValue::Kind::kShare: {
      char text[48];
      std::snprintf(text, sizeof text, "%.6g%%", size.share * 100);
      return text;
    }
    case SizeValue::Kind::kCount:
      return std::to_string(size.count) + "x";
    case SizeValue::Kind::kAuto:
      return "auto";
  }
  return "";
}

}  // namespace rota
