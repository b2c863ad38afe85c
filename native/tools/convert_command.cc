// rota-model convert: words -> ConvertOptions, a look at the disk, progress, and what was written.
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/flags.h"
#include "model/checkpoint_convert.h"
#include "tools/interruption.h"
#include "tools/model_tool.h"
#include "tools/writing.h"

namespace rota {
namespace {

std::vector<Flag> convert_flags(ConvertOptions& o) {
  return {{"--out", "FILE", "STEM.gguf; the DSpark sidecar is STEM.dspark.gguf beside it",
           [&o](const std::string& v) { return o.out = v, Status(); }},
          {"--engram-tables", "on|off", "off: without them, for a file of extract-engram",
           [&o](const std::string& v) -> Status {
             ROTA_ASSIGN_OR_RETURN(o.formats.engram_tables, parse_on_off(v));
             return Status();
           }}};
}

// CHECKPOINT may stand anywhere among the flags, all of which take a value.
Result<std::string> split_folder(std::span<const char* const> arguments,
                                 std::vector<const char*>& flags) {
  std::string folder;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with("--")) {
      flags.push_back(arguments[i]);
      if (word.find('=') == std::string_view::npos && i + 1 < arguments.size()) {
        flags.push_back(arguments[++i]);
      }
    } else if (folder.empty()) {
      folder = word;
    } else {
      return Status(Code::kUsage, "one CHECKPOINT is enough, not also '" + std::string(word) + "'");
    }
  }
  return folder;
}

}  // namespace

std::string convert_help() {
  ConvertOptions options;
  return flags_help(convert_flags(options));
}

Status convert_command(std::span<const char* const> arguments) {
  ConvertOptions options;
  std::vector<const char*> words;
  ROTA_ASSIGN_OR_RETURN(const std::string folder, split_folder(arguments, words));
  ROTA_RETURN_IF_ERROR(parse_flags(words, convert_flags(options)));
  if (folder.empty()) {
    return Status(Code::kUsage, "CHECKPOINT is missing: the folder that holds config.json");
  }
  if (options.out.empty()) return Status(Code::kUsage, "--out is missing: --out FILE.gguf");
  options.before_write = [&options](uint64_t bytes) {
    return check_disk(options.out, bytes, "the model");
  };
  Progress progress;
  options.progress = [&progress](uint64_t done, uint64_t total) {
    progress("converting", 0, done, total);
  };
  // Last of all it ends the process, when both files are removed.
  const Interruption interruption;
  options.stopped = [&interruption] { return interruption.came(); };
  const int64_t begin = now_ns();
  ROTA_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(folder));
  ROTA_ASSIGN_OR_RETURN(const ConvertedFiles files, convert_checkpoint(*checkpoint, options));
  const double seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  std::printf("%s\n", files.model.c_str());
  if (!files.sidecar.empty()) std::printf("%s\n", files.sidecar.c_str());
  std::fprintf(stderr, "%s: %.1f MB in %.2f s, without loss", folder.c_str(),
               static_cast<double>(files.bytes) * 1e-6, seconds);
  if (const uint64_t ignored = checkpoint->ignored_tensors(); ignored > 0) {
    std::fprintf(stderr, "; %llu tensors for images left out",
                 static_cast<unsigned long long>(ignored));
  }
  if (!files.no_tokenizer.empty()) {
    std::fprintf(stderr, "; no tokenizer was written: %s", files.no_tokenizer.c_str());
  }
  std::fputs("\n", stderr);
  return Status();
}

}  // namespace rota
