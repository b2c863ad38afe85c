// rota-bench: benchmarks of the native parts, each beside its ceiling. Only chooses the command.
#include <cstdio>
#include <string_view>

#include "base/flags.h"
#include "bench/commands.h"

namespace rota {
namespace {

struct Command {
  const char* name;
  const char* help;
  Status (*run)(std::span<const char* const> arguments);
};

constexpr Command kCommands[] = {
    {"pool", "bytes a second of whole experts through the CPU pool, beside the memory's bandwidth",
     pool_command},
    {"neighbour", "a pass beside busy processes on the same cores: in proportion, or a collapse?",
     neighbour_command},
    {"decode", "the pool inside a real decode, beside the pool alone; and what a ledger costs",
     decode_command},
    {"experts", "bytes a second of whole experts through a GPU's kernels, beside its own copy",
     experts_command},
    {"kernels", "one core's matrix kernels: weights a cycle, bytes a second", kernels_command},
};

void print_help() {
  std::printf("rota-bench COMMAND [flags]; rota-bench COMMAND --help lists its flags\n\n");
  for (const Command& command : kCommands) std::printf("  %-10s %s\n", command.name, command.help);
  std::printf("\nExample:\n  rota-bench pool --json --rows 1\n");
}

Status run(std::span<const char* const> words) {
  const std::string_view name = words.empty() ? "" : words[0];
  if (name == "--help") return print_help(), Status();
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(words.subspan(1)).with_context(command.name);
    names.emplace_back(command.name);
  }
  const std::string near = nearest(name, names);
  return Status(
      Code::kUsage,
      (name.empty() ? "a command is missing" : "unknown command \"" + std::string(name) + "\"") +
          (near.empty() ? "; --help lists them" : "; did you mean " + near + "?"));
}

}  // namespace
}  // namespace rota

int main(int argc, char** argv) {
  const rota::Status status = rota::run({argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
  if (status.ok()) return 0;
  std::fprintf(stderr, "rota-bench: %s\n", status.message().c_str());
  return status.code() == rota::Code::kUsage         ? 2
         : status.code() == rota::Code::kOutOfMemory ? 4
                                                     : 3;
}
