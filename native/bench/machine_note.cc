// /proc/cpuinfo and /proc/loadavg.
#include "bench/machine_note.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/topology.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown CPU";
}

Json known(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

std::string shown(const std::optional<double>& value) {
  if (!value) return "n/a";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", *value);
  return text;
}

}  // namespace

std::optional<double> load_average() {
  std::ifstream file("/proc/loadavg");
  double load = 0;
  if (!(file >> load)) return std::nullopt;
  return load;
}

MachineNote note_machine() { return {cpu_name(), usable_cores(), load_average(), std::nullopt}; }

Json note_json(const MachineNote& note) {
  return {
      {"cpu", note.cpu},
      {"cores", note.cores},
      {"load_average", {{"before", known(note.load_before)}, {"after", known(note.load_after)}}}};
}

std::string note_line(const MachineNote& note) {
  return note.cpu + ", " + std::to_string(note.cores) + " cores; load " + shown(note.load_before) +
         " before, " + shown(note.load_after) + " after";
}

}  // namespace rota
