// Puts another number or word in the place of one of a JSON text's, and leaves the text whole: byte
// by byte hardly a change gets past the parser. Owns the search for them; checks nothing of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace rota {

class JsonWords {
 public:
  explicit JsonWords(std::string_view text) : text_(text) {
    for (size_t at = 0; at < text.size();) at = step(at);
  }

  // The text with one of them changed; empty where there is none.
  std::string changed(std::minstd_rand& random) const {
    if (words_.empty()) return {};
    const std::string_view old = words_[random() % words_.size()];
    const auto at = static_cast<size_t>(old.data() - text_.data());
    std::string text(text_.substr(0, at));
    text += replacement(old, random);
    return text.append(text_.substr(at + old.size()));
  }

 private:
  static bool of_number(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
  }
  static bool of_literal(char c) { return c >= 'a' && c <= 'z'; }

  // Past what begins here, which is kept when it is a word.
  size_t step(size_t at) {
    size_t end = at + 1;
    const char first = text_[at];
    if (first == '"') {
      while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text_.size());
    } else if (of_number(first) && first != 'e') {
      while (end < text_.size() && of_number(text_[end])) ++end;
    } else if (of_literal(first)) {
      while (end < text_.size() && of_literal(text_[end])) ++end;
    } else {
      return end;
    }
    words_.push_back(text_.substr(at, end - at));
    return end;
  }

  // A neighbour of a small number, something that breaks things, or another word of this text.
  std::string replacement(std::string_view old, std::minstd_rand& random) const {
    const bool small =
        old.size() < 10 &&
        std::all_of(old.begin(), old.end(), [](char c) { return c >= '0' && c <= '9'; });
    switch (random() % 3) {
      case 0:
        if (small)
          return std::to_string(std::stoi(std::string(old)) + (random() % 2 == 0 ? 1 : -1));
        [[fallthrough]];
      case 1: {
        constexpr const char* kOdd[] = {"0",     "1",    "2",    "32",         "-1",   "4096",
                                        "1e300", "null", "true", "2147483647", "0.5",  "\"\"",
                                        "[]",    "{}",   "[0]",  "4294967296", "1e-9", "\"a\""};
        return kOdd[random() % std::size(kOdd)];
      }
      default:
        return std::string(words_[random() % words_.size()]);
    }
  }

  std::string_view text_;
  std::vector<std::string_view> words_;
};

}  // namespace rota
