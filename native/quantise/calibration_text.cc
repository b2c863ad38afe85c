// Lines to pieces.
#include "quantise/calibration_text.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/text_file.h"

namespace rota {
namespace {

class Reader {
 public:
  Reader(size_t window, const Config& config, std::vector<Piece>& pieces)
      : window_(window), config_(config), pieces_(pieces) {}

  // held_out(n) for the n-th sequence over all files.
  template <typename HeldOut>
  Status read(const std::string& path, const HeldOut& held_out) {
    ROTA_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
    size_t number = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line(text.data() + at, end - at);
      ++number;
      at = end + 1;
      ROTA_ASSIGN_OR_RETURN(const std::vector<int> tokens, ids(line, path, number));
      if (!tokens.empty()) cut(tokens, held_out(sequences_++));
    }
    return {};
  }

 private:
  Result<std::vector<int>> ids(std::string_view line, const std::string& path, size_t number) {
    std::vector<int> tokens;
    const auto wrong = [&](const std::string& what) {
      return Status(Code::kUsage, path + ":" + std::to_string(number) + ": " + what);
    };
    const char* at = line.data();
    const char* const end = at + line.size();
    while (at < end) {
      if (*at == ' ' || *at == '\r') {
        ++at;
        continue;
      }
      int token = 0;
      const auto [rest, error] = std::from_chars(at, end, token);
      if (error != std::errc() || (rest < end && *rest != ' ' && *rest != '\r')) {
        return wrong("token ids with spaces between are wanted");
      }
      if (const Status known = config_.check_token(token); !known.ok()) {
        return wrong(known.message());
      }
      tokens.push_back(token);
      at = rest;
    }
    return tokens;
  }

  void cut(const std::vector<int>& tokens, bool held_out) {
    for (size_t first = 0; first < tokens.size(); first += window_) {
      const size_t count = std::min(window_, tokens.size() - first);
      if (count < std::min(kShortestPiece, window_)) break;
      const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
      pieces_.push_back({{begin, begin + static_cast<std::ptrdiff_t>(count)}, held_out});
    }
  }

  size_t window_, sequences_ = 0;
  const Config& config_;
  std::vector<Piece>& pieces_;
};

Status check_parts(const std::vector<Piece>& pieces) {
  for (const bool held_out : {false, true}) {
    const bool some = std::any_of(pieces.begin(), pieces.end(),
                                  [&](const Piece& piece) { return piece.held_out == held_out; });
    if (some) continue;
    return {Code::kUsage, std::string("the text has no sequence of ") +
                              std::to_string(kShortestPiece) + " tokens or more to " +
                              (held_out ? "measure on" : "fit on")};
  }
  return {};
}

}  // namespace

Result<std::vector<Piece>> read_pieces(const TextFiles& files, size_t window,
                                       const Config& config) {
  std::vector<Piece> pieces;
  Reader reader(window, config, pieces);
  const bool apart = !files.held_out.empty();
  for (const std::string& path : files.fit) {
    ROTA_RETURN_IF_ERROR(reader.read(path, [apart](size_t sequence) {
      return !apart && sequence % kHeldOutOneIn == kHeldOutOneIn - 1;
    }));
  }
  for (const std::string& path : files.held_out) {
    ROTA_RETURN_IF_ERROR(reader.read(path, [](size_t) { return true; }));
  }
  ROTA_RETURN_IF_ERROR(check_parts(pieces));
  return pieces;
}

}  // namespace rota
