// Fuzz target: the cutting of stdin into lines. However the bytes come, each line is given out or
// refused as a look at all of them at once says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "engines/line_splitter.h"

namespace {

constexpr const char* kRefused = "\n";  // stands for a line that was refused; no line is this

// Lines with their newline, in order; a last one without it only when it is too long already.
std::vector<std::string> expected_lines(std::string_view text, size_t longest) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > longest) {
      lines.emplace_back(kRefused);
    } else if (end < text.size()) {
      lines.emplace_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t longest = data[0] % 16, piece = data[1] % 8 + size_t{1};
  const std::string_view text(reinterpret_cast<const char*>(data + 2), size - 2);
  std::vector<std::string> lines;
  rota::LineSplitter splitter(
      longest, [&](const std::string& line) { lines.push_back(line); },
      [&](rota::LineSplitter::Refused why) {
        ROTA_CHECK(why == rota::LineSplitter::Refused::kTooLong);
        lines.emplace_back(kRefused);
      });
  for (size_t at = 0; at < text.size(); at += piece) splitter.feed(text.substr(at, piece));
  ROTA_CHECK(lines == expected_lines(text, longest), lines.size());
  return 0;
}
