// Setters of flags.
#include "bench/command_flags.h"

namespace rota {

void add_common_flags(CommonFlags& common, std::vector<Flag>& flags) {
  const auto set = [](bool& target) {
    return [&target](const std::string&) { return target = true, Status(); };
  };
  flags.push_back({"--json", nullptr, "one JSON object instead of a table", set(common.json)});
  flags.push_back({"--progress", nullptr, "JSON lines of progress on stderr, at most five a second",
                   set(common.progress)});
  flags.push_back({"--help", nullptr, "this text", set(common.help)});
}

std::function<Status(const std::string&)> whole_number(int& target, int min, int max) {
  return [&target, min, max](const std::string& text) {
    ROTA_ASSIGN_OR_RETURN(target, parse_int(text, min, max));
    return Status();
  };
}

std::function<Status(const std::string&)> decimal(double& target, double min, double max) {
  return [&target, min, max](const std::string& text) {
    ROTA_ASSIGN_OR_RETURN(target, parse_number(text, min, max));
    return Status();
  };
}

std::function<Status(const std::string&)> on_off(bool& target) {
  return [&target](const std::string& text) {
    ROTA_ASSIGN_OR_RETURN(target, parse_on_off(text));
    return Status();
  };
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

}  // namespace rota
