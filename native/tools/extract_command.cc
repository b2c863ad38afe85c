// rota-model extract-engram: words -> ExtractOptions, a look at the disk, progress, and what was
// written.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/flags.h"
#include "model/engram_extract.h"
#include "tools/model_tool.h"
#include "tools/writing.h"

namespace rota {
namespace {

constexpr std::array kLists = {"--from"};

std::vector<Flag> extract_flags(ExtractOptions& o) {
  return {{"--from",
           "PATH...",
           "the safetensors files with the Engram tables, or the folder that holds them",
           [&o](const std::string& v) { return o.from.push_back(v), Status(); },
           {},
           true},
          {"--out", "FILE", "the GGUF to write; STEM.engram.gguf is found beside STEM.gguf",
           [&o](const std::string& v) { return o.out = v, Status(); }},
          {"--verify", "on|off", "compare every byte with its source at the end (default on)",
           [&o](const std::string& v) -> Status {
             ROTA_ASSIGN_OR_RETURN(o.verify, parse_on_off(v));
             return Status();
           }}};
}

}  // namespace

std::string extract_help() {
  ExtractOptions options;
  return flags_help(extract_flags(options));
}

Status extract_command(std::span<const char* const> arguments) {
  ExtractOptions options;
  ROTA_RETURN_IF_ERROR(parse_flags(spread_lists(arguments, kLists), extract_flags(options)));
  if (options.from.empty()) {
    return Status(Code::kUsage, "--from is missing: --from SHARD47 SHARD48, or their folder");
  }
  if (options.out.empty()) return Status(Code::kUsage, "--out is missing: --out FILE.gguf");
  options.before_write = [&options](uint64_t bytes) {
    return check_disk(options.out, bytes, options.out);
  };
  Progress progress;
  options.progress = [&progress](const char* phase, uint64_t start, uint64_t done, uint64_t total) {
    progress(phase, start, done, total);
  };
  const int64_t begin = now_ns();
  ROTA_ASSIGN_OR_RETURN(const ExtractResult result, extract_engram(options));
  const double seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  std::printf("%s\n", options.out.c_str());
  std::fprintf(stderr, "%zu tables, %.1f MB in %.2f s%s%s\n", result.layers.size(),
               static_cast<double>(result.bytes) * 1e-6, seconds,
               result.resumed_bytes > 0 ? ", went on with an earlier run" : "",
               options.verify ? ", verified" : "");
  return Status();
}

}  // namespace rota
