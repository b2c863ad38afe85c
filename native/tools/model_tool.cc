// Dispatch, help text and exit codes of rota-model.
#include "tools/model_tool.h"

#include <cstdio>
#include <string_view>
#include <vector>

#include "base/flags.h"
#include "base/utf8.h"

namespace rota {
namespace {

struct Command {
  const char* name;
  const char* usage;
  Status (*run)(std::span<const char* const>);
};

constexpr Command kCommands[] = {
    {"synth", "synth --config NAME --out FILE.gguf [flags]   write a synthetic model",
     synth_command},
    {"inspect", "inspect FILE [--draft PATH] [--json]           what a model file holds",
     inspect_command},
    {"fingerprint", "fingerprint FILE [--draft PATH] [--json]       the identity of the weights",
     fingerprint_command},
    {"convert",
     "convert CHECKPOINT --out FILE.gguf                 a released checkpoint, without loss",
     convert_command},
    {"extract-engram",
     "extract-engram --from PATH... --out FILE.gguf      Engram tables out of safetensors",
     extract_command},
    {"rank", "rank --routes FILE... --out FILE               order experts by use in dumped routes",
     rank_command},
    {"quantise",
     "quantise MODEL --text IDS... --out FILE.gguf       experts into few bits, calibrated on text",
     quantise_command},
};

void print_help() {
  std::string text = "rota-model: write and describe model files\n\n";
  for (const Command& command : kCommands)
    text += std::string("  rota-model ") + command.usage + "\n";
  text += "\nflags of synth:\n" + synth_help();
  text += "\nflags of convert:\n" + convert_help();
  text += "\nflags of extract-engram:\n" + extract_help();
  text += "\nflags of inspect and fingerprint:\n" + read_help();
  text += "\nflags of rank:\n" + rank_help();
  text += "\nflags of quantise:\n" + quantise_help();
  text +=
      "\nexamples:\n"
      "  rota-model synth --config mini-s --seed 1 --out mini.gguf\n"
      "  rota-model inspect mini.gguf\n"
      "  rota-model convert DeepSeek-V4.1-Flash --out v41.gguf\n";
  std::fputs(text.c_str(), stdout);
}

Status unknown_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const std::string near = nearest(name, names);
  return Status(Code::kUsage,
                "unknown command '" + std::string(name) + "'; " +
                    (near.empty() ? "see rota-model --help" : "did you mean " + near + "?"));
}

Status dispatch(std::span<const char* const> arguments) {
  if (arguments.empty()) return Status(Code::kUsage, "no command; see rota-model --help");
  for (const Command& command : kCommands) {
    if (std::string_view(arguments[0]) == command.name) return command.run(arguments.subspan(1));
  }
  return unknown_command(arguments[0]);
}

}  // namespace

int exit_code(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return 0;
    case Code::kUsage:
    case Code::kBadRequest:
    case Code::kUnsupported:
      return 2;
    case Code::kOutOfMemory:
      return 4;
    case Code::kLoad:
    case Code::kIo:
    case Code::kCancelled:
      return 3;
  }
  return 3;
}

int run_model_tool(int argc, char** argv) {
  const std::span<const char* const> arguments(argv + 1,
                                               static_cast<size_t>(argc > 0 ? argc - 1 : 0));
  for (const std::string_view word : arguments) {
    if (word == "--help" || word == "-h") {
      print_help();
      return 0;
    }
  }
  const Status status = dispatch(arguments);
  if (!status.ok()) std::fprintf(stderr, "rota-model: %s\n", one_line(status.message()).c_str());
  return exit_code(status);
}

}  // namespace rota
