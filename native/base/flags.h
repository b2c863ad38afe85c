// A command line of flags with values, and the environment variables that stand in for them:
// parsing, the nearest right name for a wrong one, and the help text. Knows no flag.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rota {

// An environment variable that gives a flag its value. Its name carries its program's prefix: a
// bare word in a user's shell must not turn a knob by accident.
struct FlagVariable {
  const char* name;  // "STRATA_LRU_WIN"
  // The variable's text as the flag's; an empty result leaves the flag alone. Absent: they are the
  // same.
  std::function<Result<std::string>(const std::string&)> translate = nullptr;
};

struct Flag {
  const char* name;   // "--slots"
  const char* value;  // "SIZE"; nullptr = takes none
  const char* help;
  // Errors say what is wrong with the value; the flag's name is put in front.
  std::function<Status(const std::string&)> set;
  std::vector<FlagVariable> variables = {};
  bool repeats = false;  // each time adds a value
};

// kUsage: one line, whatever the words hold. A value that is given twice is refused, even twice the
// same: which was meant cannot be known. The names of the flags that were there go to `given`.
Status parse_flags(std::span<const char* const> arguments, const std::vector<Flag>& flags,
                   std::set<std::string>* given = nullptr);
// Words behind a flag of `lists` are further values of it, up to the next flag: "--from a b"
// becomes
// "--from a --from b". A word before any flag is one value of `first`, if that is named.
std::vector<const char*> spread_lists(std::span<const char* const> arguments,
                                      std::span<const char* const> lists,
                                      const char* first = nullptr);
std::string flags_help(const std::vector<Flag>& flags);

// A flag that the environment set.
struct FlagFromEnvironment {
  std::string flag, variable, value;  // the variable's own text
};
// The value of a variable; nullptr when it is not set.
using Environment = std::function<const char*(const char* name)>;

// Sets the flags that are not in `given` from their variables; an empty variable is one that is not
// set. kUsage names the variable, and both of two that disagree.
Result<std::vector<FlagFromEnvironment>> read_environment(const std::vector<Flag>& flags,
                                                          const std::set<std::string>& given,
                                                          const Environment& environment);

Result<int> parse_int(const std::string& text, int min, int max);
Result<double> parse_number(const std::string& text, double min, double max);
Result<bool> parse_on_off(const std::string& text);

// The candidate with the fewest edits, or empty when none is near.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace rota
