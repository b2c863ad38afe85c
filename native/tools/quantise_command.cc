// rota-model quantise: flags -> QuantiseOptions, progress, and what came of it.
#include <array>
#include <climits>
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/flags.h"
#include "quantise/quantise.h"
#include "tools/model_tool.h"
#include "tools/quantise_source.h"
#include "tools/writing.h"

namespace rota {
namespace {

constexpr std::array kLists = {"--text", "--held-out"};

std::vector<Flag> quantise_flags(QuantiseOptions& o) {
  return {
      {"--model", "FILE", "a GGUF, or a folder of safetensors (may stand without the flag)",
       [&o](const std::string& v) { return o.model = v, Status(); }},
      {"--out", "FILE", "STEM.gguf; the DSpark sidecar is STEM.dspark.gguf beside it",
       [&o](const std::string& v) { return o.out = v, Status(); }},
      {"--text", "IDS...", "token ids to fit on: a sequence a line, ids with spaces between",
       [&o](const std::string& v) { return o.text.fit.push_back(v), Status(); }},
      {"--held-out", "IDS...", "token ids to measure on (default: every fourth line of --text)",
       [&o](const std::string& v) { return o.text.held_out.push_back(v), Status(); }},
      {"--window", "N", "tokens of a piece of text (default 512)",
       [&o](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(o.window, parse_int(v, 1, 1 << 20));
         return Status();
       }},
      {"--threads", "N", "threads (default: all cores); changes no bit",
       [&o](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(o.threads, parse_int(v, 1, 4096));
         return Status();
       }},
      {"--engram-tables", "on|off", "off: without them, for a file of extract-engram",
       [&o](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(o.engram_tables, parse_on_off(v));
         return Status();
       }},
      {"--report", "FILE", "what was measured, JSON (default: STEM.quantise.json)",
       [&o](const std::string& v) { return o.report = v, Status(); }},
  };
}

}  // namespace

std::string quantise_help() {
  QuantiseOptions options;
  return flags_help(quantise_flags(options));
}

Status quantise_command(std::span<const char* const> arguments) {
  QuantiseOptions options;
  ROTA_RETURN_IF_ERROR(
      parse_flags(spread_lists(arguments, kLists, "--model"), quantise_flags(options)));
  if (options.model.empty())
    return Status(Code::kUsage, "the model is missing: a GGUF or a folder");
  if (options.out.empty()) return Status(Code::kUsage, "--out is missing: --out FILE.gguf");
  if (options.text.fit.empty()) {
    return Status(Code::kUsage, "--text is missing: --text IDS...");
  }
  Progress progress;
  options.progress = [&progress](const char* phase, uint64_t start, uint64_t done, uint64_t total) {
    progress(phase, start, done, total);
  };
  const int64_t begin = now_ns();
  ROTA_ASSIGN_OR_RETURN(const QuantiseSource source,
                        QuantiseSource::open(options.model, options.out, progress));
  options.model = source.gguf();
  ROTA_ASSIGN_OR_RETURN(const Quantised out, quantise(options));
  source.remove();
  std::printf("%s\n", out.files.model.c_str());
  if (!out.files.sidecar.empty()) std::printf("%s\n", out.files.sidecar.c_str());
  std::printf("%s\n", out.report.c_str());
  std::fprintf(stderr, "%s%.1f MB in %.1f s\n", out.text.c_str(),
               static_cast<double>(out.files.bytes) * 1e-6,
               static_cast<double>(now_ns() - begin) * 1e-9);
  return Status();
}

}  // namespace rota
