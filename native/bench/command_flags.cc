// Setters of flags.
#include "bench/command_flags.h"

#include <optional>

#include "device/device_choice.h"

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

std::function<Status(const std::string&)> format_list(std::vector<Format>& target) {
  return [&target](const std::string& text) -> Status {
    target.clear();
    for (const std::string& word : split_list(text)) {
      ROTA_ASSIGN_OR_RETURN(const Format format, parse_format(word));
      target.push_back(format);
    }
    return Status();
  };
}

std::function<Status(const std::string&)> row_list(std::vector<int>& target) {
  return [&target](const std::string& text) -> Status {
    target.clear();
    for (const std::string& word : split_list(text)) {
      ROTA_ASSIGN_OR_RETURN(const int rows, parse_int(word, 1, 1024));
      target.push_back(rows);
    }
    return Status();
  };
}

std::function<Status(const std::string&)> gpu_number(int& target) {
  return [&target](const std::string& text) -> Status {
    ROTA_ASSIGN_OR_RETURN(const std::optional<int> device, parse_device(text));
    if (!device) return Status(Code::kUsage, "\"host\" has no kernels here: cuda:N");
    target = *device;
    return Status();
  };
}

std::function<Status(const std::string&)> gibibytes(uint64_t& target, double min, double max) {
  return [&target, min, max](const std::string& text) -> Status {
    ROTA_ASSIGN_OR_RETURN(const double gib, parse_number(text, min, max));
    target = static_cast<uint64_t>(gib * 0x1p30);
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
