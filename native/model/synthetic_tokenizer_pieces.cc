// Cuts text into the pieces that merges never cross: the model family's pre-tokenisation, for text
// of ASCII, CJK and punctuation (other scripts' letters would count as punctuation here).
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "model/synthetic_tokenizer.h"

namespace rota {
namespace {

enum class Kind { kLetter, kDigit, kCjk, kSpace, kLineBreak, kPunctuation };

struct Char {
  std::string_view bytes;
  Kind kind;
};

Kind kind_of(uint32_t c) {
  if (c == '\r' || c == '\n') return Kind::kLineBreak;
  if (c == ' ' || c == '\t') return Kind::kSpace;
  if (c >= '0' && c <= '9') return Kind::kDigit;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Kind::kLetter;
  if ((c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff)) return Kind::kCjk;
  return Kind::kPunctuation;
}

std::vector<Char> characters(std::string_view text) {
  std::vector<Char> out;
  while (!text.empty()) {
    const auto [length, code] = decode_utf8(text);
    ROTA_CHECK(length > 0, "the training text is not UTF-8");
    out.push_back({text.substr(0, length), kind_of(code)});
    text.remove_prefix(length);
  }
  return out;
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : chars_(characters(text)) {}

  std::vector<std::string> split() {
    while (at_ < chars_.size()) take(piece_length());
    return std::move(pieces_);
  }

 private:
  bool is(size_t i, Kind kind) const { return i < chars_.size() && chars_[i].kind == kind; }
  bool is_space(size_t i) const { return is(i, Kind::kSpace) || is(i, Kind::kLineBreak); }
  bool is_ascii_punctuation(size_t i) const {
    return is(i, Kind::kPunctuation) && chars_[i].bytes.size() == 1;
  }
  size_t run(size_t from, Kind kind) const {
    size_t end = from;
    while (is(end, kind)) ++end;
    return end - from;
  }

  // Digits and CJK are cut out first, so the other alternatives never look past one of their runs.
  size_t piece_length() const {
    if (is(at_, Kind::kDigit)) return std::min<size_t>(3, run(at_, Kind::kDigit));
    if (is(at_, Kind::kCjk)) return run(at_, Kind::kCjk);
    if (is_ascii_punctuation(at_) && is(at_ + 1, Kind::kLetter)) {
      return 1 + run(at_ + 1, Kind::kLetter);
    }
    if (is(at_, Kind::kLetter)) return run(at_, Kind::kLetter);
    if (is(at_, Kind::kSpace) && is(at_ + 1, Kind::kLetter)) return 1 + run(at_ + 1, Kind::kLetter);
    const size_t lead = chars_[at_].bytes == " " ? 1 : 0;
    if (is(at_ + lead, Kind::kPunctuation)) {
      const size_t end = at_ + lead + run(at_ + lead, Kind::kPunctuation);
      return end + run(end, Kind::kLineBreak) - at_;
    }
    return space_length();
  }

  // White space up to its last line break; else all of it but the one before a word; else all.
  size_t space_length() const {
    size_t end = at_, last_break = at_;
    while (is_space(end)) {
      ++end;
      if (chars_[end - 1].kind == Kind::kLineBreak) last_break = end;
    }
    if (last_break > at_) return last_break - at_;
    const bool piece_ends = end == chars_.size() || is(end, Kind::kDigit) || is(end, Kind::kCjk);
    return piece_ends || end - at_ == 1 ? end - at_ : end - at_ - 1;
  }

  void take(size_t count) {
    std::string piece;
    for (size_t i = 0; i < count; ++i) piece += chars_[at_ + i].bytes;
    pieces_.push_back(std::move(piece));
    at_ += count;
  }

  std::vector<Char> chars_;
  size_t at_ = 0;
  std::vector<std::string> pieces_;
};

}  // namespace

namespace tokenizer_internal {

std::vector<std::string> pieces(std::string_view text) { return Splitter(text).split(); }

}  // namespace tokenizer_internal
}  // namespace rota
