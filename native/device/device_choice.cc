// The two forms.
#include "device/device_choice.h"

#include "base/flags.h"

namespace rota {

Result<std::optional<int>> parse_device(const std::string& text) {
  if (text == "host") return std::optional<int>();
  if (text.rfind("cuda:", 0) == 0) {
    const Result<int> index = parse_int(text.substr(5), 0, 1023);
    if (index.ok()) return std::optional<int>(index.value());
  }
  return Status(Code::kUsage, "\"" + text + "\" is unknown: host or cuda:N");
}

}  // namespace rota
