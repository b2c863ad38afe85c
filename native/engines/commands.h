// The lines that an engine is told, as values. Owns the JSON of requests: every field checked, an
// unknown one refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "decode/request.h"

namespace rota {

enum class Op { kGenerate, kScore, kCancel, kStats, kReset, kQuit, kRefused };

struct Command {
  Op op = Op::kRefused;
  std::optional<int64_t> id;  // absent where the line had none
  GenerateRequest generate;
  bool stream = false;
  ScoreRequest score;
  std::string code, message;  // kRefused: what is wrong with the line
};

// Never fails: a line that cannot be understood is a kRefused command, to be answered in its turn.
Command parse_command(const std::string& line);

}  // namespace rota
