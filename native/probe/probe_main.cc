// rota-probe: the ceilings of memory, disk and a GPU. Only parses, composes and prints.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/flags.h"
#include "device/device_choice.h"
#include "probe/cuda/device_probe.h"
#include "probe/file_probe.h"
#include "probe/memory_probe.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  MemoryProbeOptions memory;
  FileProbeOptions file;
  std::optional<int> cuda;
  bool json = false, help = false;
};

// Leaves room for a number a person would type by mistake, and none for a negative or endless run.
constexpr double kMostSeconds = 600;

std::vector<Flag> probe_flags(Arguments& a) {
  return {
      {"--file", "PATH", "also read random blocks of this file past the page cache",
       [&a](const std::string& v) { return a.file.path = v, Status(); }},
      {"--block", "BYTES", "size of those blocks (default 2097152, at most the file)",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(const int bytes, parse_int(v, 1, 1 << 30));
         a.file.block_bytes = static_cast<uint64_t>(bytes);
         return Status();
       }},
      {"--device", "NAME",
       "cuda:N: also copy within that GPU's memory, and into it from the host's",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.cuda, parse_device(v));
         return Status();
       }},
      {"--mib", "N", "memory buffer in MiB (default 4 times the last-level cache, at least 256)",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(const int mib, parse_int(v, 1, 1 << 20));
         a.memory.buffer_bytes = static_cast<uint64_t>(mib) << 20;
         return Status();
       }},
      {"--seconds", "S", "time for all thread counts (default 1), and half of it for the file",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.memory.seconds, parse_number(v, 0, kMostSeconds));
         a.file.seconds = a.memory.seconds / 2;
         return Status();
       }},
      {"--json", nullptr, "one JSON object instead of text",
       [&a](const std::string&) { return a.json = true, Status(); }},
      {"--help", nullptr, "this text",
       [&a](const std::string&) { return a.help = true, Status(); }},
  };
}

Json rates_json(const std::vector<RateSummary>& rates, const char* counted) {
  Json out = Json::array();
  for (const RateSummary& rate : rates) {
    out.push_back({{counted, rate.threads},
                   {"n", rate.n},
                   {"median_bytes_per_s", rate.median_bytes_per_s},
                   {"best_bytes_per_s", rate.best_bytes_per_s}});
  }
  return out;
}

Json memory_json(const MemoryProbe& probe) {
  const RateSummary& best = *fastest(probe.by_threads);
  return {{"best_bytes_per_s", best.best_bytes_per_s},
          {"best_threads", best.threads},
          {"kernel", probe.kernel},
          {"buffer_bytes", probe.buffer_bytes},
          {"last_level_cache_bytes",
           probe.last_level_cache_bytes > 0 ? Json(probe.last_level_cache_bytes) : Json()},
          {"threads", rates_json(probe.by_threads, "threads")}};
}

Json file_json(const FileProbe& probe, const std::string& path) {
  const RateSummary& best = *fastest(probe.by_readers);
  return {{"best_bytes_per_s", best.best_bytes_per_s},
          {"best_readers", best.threads},
          {"path", path},
          {"direct", probe.direct},
          {"why_buffered", probe.direct ? Json() : Json(probe.why_buffered)},
          {"block_bytes", probe.block_bytes},
          {"readers", rates_json(probe.by_readers, "readers")}};
}

Json device_json(const DeviceProbe& probe) {
  return {{"name", probe.device},
          {"copy_bytes_per_s", probe.copy_bytes_per_s},
          {"from_host_bytes_per_s", probe.from_host_bytes_per_s},
          {"buffer_bytes", probe.buffer_bytes}};
}

void print_device(const DeviceProbe& probe) {
  std::printf("%s: a copy reads and writes %.0f GB/s, from the host come %.2f\n",
              probe.device.c_str(), probe.copy_bytes_per_s * 1e-9,
              probe.from_host_bytes_per_s * 1e-9);
}

void print_rates(const char* what, const std::vector<RateSummary>& rates) {
  for (const RateSummary& rate : rates) {
    std::printf("%2d %s: best %.2f GB/s, median %.2f (n %d)\n", rate.threads, what,
                rate.best_bytes_per_s * 1e-9, rate.median_bytes_per_s * 1e-9, rate.n);
  }
}

Status run(std::span<const char* const> words) {
  Arguments a;
  const std::vector<Flag> flags = probe_flags(a);
  ROTA_RETURN_IF_ERROR(parse_flags(words, flags));
  if (a.help) {
    std::printf(
        "rota-probe: read bandwidth of memory and of a file, and of a GPU\n\n%s\nexample:\n"
        "  rota-probe --json --file model.gguf\n",
        flags_help(flags).c_str());
    return Status();
  }
  if (a.file.block_bytes > 0 && a.file.path.empty()) {
    return Status(Code::kUsage, "--block needs --file PATH");
  }
  // The file first: a wrong path should not cost the time of the memory.
  std::optional<FileProbe> file;
  if (!a.file.path.empty()) {
    ROTA_ASSIGN_OR_RETURN(file, probe_file(a.file));
  }
  std::optional<DeviceProbe> device;
  if (a.cuda) {
    ROTA_ASSIGN_OR_RETURN(device, probe_device(*a.cuda));
  }
  ROTA_ASSIGN_OR_RETURN(const MemoryProbe memory, probe_memory(a.memory));
  Json out = {{"memory", memory_json(memory)}};
  if (file) out["file"] = file_json(*file, a.file.path);
  if (device) out["device"] = device_json(*device);
  if (!a.json) {
    print_rates("threads, memory", memory.by_threads);
    if (file)
      print_rates(file->direct ? "readers, file" : "readers, file (page cache)", file->by_readers);
    if (device) print_device(*device);
    return Status();
  }
  std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return Status();
}

}  // namespace
}  // namespace rota

int main(int argc, char** argv) {
  const rota::Status status = rota::run({argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
  if (status.ok()) return 0;
  std::fprintf(stderr, "rota-probe: %s\n", status.message().c_str());
  return status.code() == rota::Code::kUsage         ? 2
         : status.code() == rota::Code::kOutOfMemory ? 4
                                                     : 3;
}
