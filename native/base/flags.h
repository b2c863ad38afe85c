// A command line of flags with values: parsing, the nearest right name for a wrong one, and the
// help text. Knows no flag.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rota {

struct Flag {
  const char* name;   // "--slots"
  const char* value;  // "SIZE"; nullptr = takes none
  const char* help;
  // Errors say what is wrong with the value; the flag's name is put in front.
  std::function<Status(const std::string&)> set;
};

// kUsage: one line.
Status parse_flags(std::span<const char* const> arguments, const std::vector<Flag>& flags);
std::string flags_help(const std::vector<Flag>& flags);

Result<int> parse_int(const std::string& text, int min, int max);
Result<double> parse_number(const std::string& text, double min, double max);
Result<bool> parse_on_off(const std::string& text);

// The candidate with the fewest edits, or empty when none is near.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace rota
