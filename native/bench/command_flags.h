// Flags that the benchmarks have in common, and setters that parse. Owns no benchmark's own flags.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/flags.h"

namespace rota {

struct CommonFlags {
  bool json = false, progress = false, help = false;
};

// --json, --progress and --help.
void add_common_flags(CommonFlags& common, std::vector<Flag>& flags);

std::function<Status(const std::string&)> whole_number(int& target, int min, int max);
std::function<Status(const std::string&)> decimal(double& target, double min, double max);
std::function<Status(const std::string&)> on_off(bool& target);
// "a,b,c" -> its parts; of an empty text one empty part.
std::vector<std::string> split_list(const std::string& text);

}  // namespace rota
