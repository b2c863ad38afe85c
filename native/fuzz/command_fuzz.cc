// Fuzz target: a line of the engine's stdin. It is a command with values in their ranges, or a
// refusal in one line of text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "engines/commands.h"
#include "engines/events.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string line(reinterpret_cast<const char*>(data), size);
  const rota::Command command = rota::parse_command(line);
  if (command.op == rota::Op::kRefused) {
    ROTA_CHECK(!command.code.empty() && !command.message.empty());
    const std::string event = rota::error_event(command.id, command.code, command.message);
    ROTA_CHECK(event.find('\n') == std::string::npos && rota::is_utf8(event), event);
  }
  if (command.op == rota::Op::kGenerate) {
    const rota::GenerateRequest& request = command.generate;
    ROTA_CHECK(request.max_new >= 1 && request.sampling.temperature >= 0 &&
               request.sampling.top_p > 0 && request.sampling.top_p <= 1);
  }
  return 0;
}
