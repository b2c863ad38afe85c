// The commands of rota-model and their exit codes: 0 done, 2 usage, 3 cannot read or write, 4 out
// of memory.
#pragma once

#include <span>
#include <string>

#include "base/status.h"

namespace rota {

int run_model_tool(int argc, char** argv);
int exit_code(const Status& status);

// A command parses its own arguments (without its name) and prints its result to stdout.
Status synth_command(std::span<const char* const> arguments);
Status inspect_command(std::span<const char* const> arguments);
Status fingerprint_command(std::span<const char* const> arguments);
Status convert_command(std::span<const char* const> arguments);
Status extract_command(std::span<const char* const> arguments);
Status rank_command(std::span<const char* const> arguments);
Status quantise_command(std::span<const char* const> arguments);

// What the two reading commands take: FILE [--draft PATH] [--engram PATH] [--json], in any order.
struct ReadArguments {
  std::string file;
  std::string draft;
  std::string engram;
  bool json = false;
};
Result<ReadArguments> parse_read_arguments(std::span<const char* const> arguments);

// The flags' part of --help.
std::string synth_help();
std::string read_help();
std::string convert_help();
std::string extract_help();
std::string rank_help();
std::string quantise_help();

}  // namespace rota
