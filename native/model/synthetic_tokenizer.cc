#include "model/synthetic_tokenizer.h"

#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace rota {
namespace {

constexpr int kNormal = 1, kControl = 3, kUnused = 5;

// Ids 0, 1, 2 are begin, end and padding, as in the family's own vocabulary.
constexpr const char* kSpecial[] = {
    "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>", "<｜User｜>",
    "<｜Assistant｜>",         "<｜System｜>",          "<think>",     "</think>",
    "<tool_result>",           "</tool_result>",        "｜DSML｜",
};
constexpr const char* kNoise = "<｜dspark▁noise｜>";

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

// Length of the UTF-8 sequence at the front and its code point; length 0 when the bytes are no
// UTF-8.
std::pair<size_t, uint32_t> decode_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {0, 0};
  uint32_t code = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || code > 0x10ffff || surrogate) return {0, 0};
  return {length, code};
}

std::string encode_utf8(uint32_t code) {
  std::string out;
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  out += static_cast<char>(0xc0 | (code >> 6));  // all of GPT-2's letters are below U+0800
  out += static_cast<char>(0x80 | (code & 0x3f));
  return out;
}

// GPT-2's printable stand-in for every byte: itself where printable, else the next code point from
// U+0100 on.
std::array<std::string, 256> byte_letters() {
  std::array<std::string, 256> letters;
  uint32_t next = 0x100;
  for (uint32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    letters[b] = encode_utf8(printable ? b : next++);
  }
  return letters;
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

struct Word {
  std::vector<std::string> symbols;
  int count = 0;
};
using Pair = std::pair<std::string, std::string>;

std::vector<Word> training_words() {
  const auto letters = byte_letters();
  std::map<std::string, int> counts;
  for (const std::string& piece : tokenizer_internal::pieces(tokenizer_internal::training_text())) {
    ++counts[piece];
  }
  std::vector<Word> words;
  for (const auto& [text, count] : counts) {
    Word word;
    word.count = count;
    for (const char c : text) word.symbols.push_back(letters[static_cast<uint8_t>(c)]);
    words.push_back(std::move(word));
  }
  return words;
}

// The most frequent pair, the smallest one among equals; nothing when every word is one symbol.
bool best_pair(const std::vector<Word>& words, Pair* best) {
  std::map<Pair, int> counts;
  for (const Word& word : words) {
    for (size_t i = 1; i < word.symbols.size(); ++i) {
      counts[{word.symbols[i - 1], word.symbols[i]}] += word.count;
    }
  }
  int most = 0;
  for (const auto& [pair, count] : counts) {
    if (count > most) {
      most = count;
      *best = pair;
    }
  }
  return most > 0;
}

void merge(std::vector<Word>& words, const Pair& pair) {
  for (Word& word : words) {
    std::vector<std::string> merged;
    for (size_t i = 0; i < word.symbols.size(); ++i) {
      if (i + 1 < word.symbols.size() && word.symbols[i] == pair.first &&
          word.symbols[i + 1] == pair.second) {
        merged.push_back(pair.first + pair.second);
        ++i;
      } else {
        merged.push_back(word.symbols[i]);
      }
    }
    word.symbols = std::move(merged);
  }
}

// The bytes that a token's letters stand for; nothing for a special token.
std::string token_bytes(const std::string& token,
                        const std::unordered_map<std::string, uint8_t>& byte_of) {
  std::string bytes;
  for (std::string_view rest = token; !rest.empty();) {
    const size_t length = decode_utf8(rest).first;
    bytes += static_cast<char>(byte_of.at(std::string(rest.substr(0, length))));
    rest.remove_prefix(length);
  }
  return bytes;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = decode_utf8(text).first;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string normalised(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (space && !out.empty() && out.back() == ' ') continue;
    out += space ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (out == " ") return out;
  if (out.starts_with(' ')) out.erase(0, 1);
  if (out.ends_with(' ')) out.pop_back();
  return out.empty() ? text : out;
}

}  // namespace

namespace tokenizer_internal {

std::vector<std::string> pieces(std::string_view text) { return Splitter(text).split(); }

}  // namespace tokenizer_internal

int least_tokenizer_vocab() { return static_cast<int>(std::size(kSpecial)) + 256 + 1; }

SyntheticTokenizer build_tokenizer(int vocab) {
  ROTA_CHECK(vocab >= least_tokenizer_vocab(), "vocabulary", vocab);
  SyntheticTokenizer out;
  const auto add = [&](std::string token, int type) {
    out.tokens.push_back(std::move(token));
    out.types.push_back(type);
  };
  for (const char* special : kSpecial) add(special, kControl);
  for (const std::string& letter : byte_letters()) add(letter, kNormal);
  const auto room = static_cast<size_t>(vocab - 1);
  std::vector<Word> words = training_words();
  std::unordered_map<std::string, bool> known;
  for (const std::string& token : out.tokens) known[token] = true;
  for (Pair pair; out.tokens.size() < room && best_pair(words, &pair);) {
    merge(words, pair);
    out.merges.push_back(pair.first + " " + pair.second);
    // Two pairs may spell the same token; it has one id.
    if (known.emplace(pair.first + pair.second, true).second)
      add(pair.first + pair.second, kNormal);
  }
  while (out.tokens.size() < room) {
    add("<｜reserved▁" + std::to_string(out.tokens.size()) + "｜>", kUnused);
  }
  add(kNoise, kControl);
  return out;
}

TokenMap compress_tokens(const SyntheticTokenizer& tokenizer) {
  std::unordered_map<std::string, uint8_t> byte_of;
  const auto letters = byte_letters();
  for (size_t b = 0; b < letters.size(); ++b) byte_of[letters[b]] = static_cast<uint8_t>(b);
  std::unordered_map<std::string, int> id_of;
  TokenMap map;
  for (size_t id = 0; id < tokenizer.tokens.size(); ++id) {
    const std::string& token = tokenizer.tokens[id];
    std::string key = token;
    if (tokenizer.types[id] == kNormal) {
      const std::string text = token_bytes(token, byte_of);
      if (is_utf8(text)) key = normalised(text);
    }
    map.ids.push_back(id_of.emplace(key, static_cast<int>(id_of.size())).first->second);
  }
  map.compressed_vocab = static_cast<int>(id_of.size());
  return map;
}

}  // namespace rota
