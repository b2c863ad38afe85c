// FILE [--draft PATH] [--engram PATH] [--json], in any order: what inspect and fingerprint take.
#include <string_view>
#include <vector>

#include "base/flags.h"
#include "tools/model_tool.h"

namespace rota {
namespace {

std::vector<Flag> read_flags(ReadArguments& a) {
  return {{"--draft", "PATH", "the DSpark sidecar, default STEM.dspark.gguf beside FILE",
           [&a](const std::string& value) { return a.draft = value, Status(); }},
          {"--engram", "PATH", "the Engram tables, where they are a file of their own",
           [&a](const std::string& value) { return a.engram = value, Status(); }},
          {"--json", nullptr, "one JSON object instead of text",
           [&a](const std::string&) { return a.json = true, Status(); }}};
}

}  // namespace

std::string read_help() {
  ReadArguments arguments;
  return flags_help(read_flags(arguments));
}

Result<ReadArguments> parse_read_arguments(std::span<const char* const> arguments) {
  ReadArguments parsed;
  std::vector<const char*> flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with("--")) {
      flags.push_back(arguments[i]);
      // The word after one of these is its value, not the file.
      if ((word == "--draft" || word == "--engram") && i + 1 < arguments.size())
        flags.push_back(arguments[++i]);
    } else if (parsed.file.empty()) {
      parsed.file = word;
    } else {
      return Status(Code::kUsage, "one FILE is enough, not also '" + std::string(word) + "'");
    }
  }
  ROTA_RETURN_IF_ERROR(parse_flags(flags, read_flags(parsed)));
  if (parsed.file.empty()) return Status(Code::kUsage, "FILE is missing; see rota-model --help");
  return parsed;
}

}  // namespace rota
