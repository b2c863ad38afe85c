// Flags that the benchmarks have in common, and setters that parse. Owns no benchmark's own flags.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/flags.h"
#include "formats/block.h"

namespace rota {

struct CommonFlags {
  bool json = false, progress = false, help = false;
};

// --json, --progress and --help.
void add_common_flags(CommonFlags& common, std::vector<Flag>& flags);

std::function<Status(const std::string&)> whole_number(int& target, int min, int max);
std::function<Status(const std::string&)> decimal(double& target, double min, double max);
std::function<Status(const std::string&)> on_off(bool& target);
std::function<Status(const std::string&)> format_list(std::vector<Format>& target);
// Rows of a call, 1 to 1024 each.
std::function<Status(const std::string&)> row_list(std::vector<int>& target);
// "cuda:N", kept as N.
std::function<Status(const std::string&)> gpu_number(int& target);
// GiB, kept as bytes.
std::function<Status(const std::string&)> gibibytes(uint64_t& target, double min, double max);
// "a,b,c" -> its parts; of an empty text one empty part.
std::vector<std::string> split_list(const std::string& text);

}  // namespace rota
