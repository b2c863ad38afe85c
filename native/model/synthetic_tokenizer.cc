// Learning of merges, special tokens, and the compression of tokens to Engram ids.
#include "model/synthetic_tokenizer.h"

#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace rota {
namespace {

// Ids 0, 1, 2 are begin, end and padding, as in the family's own vocabulary.
constexpr const char* kSpecial[] = {
    "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>", "<｜User｜>",
    "<｜Assistant｜>",         "<｜System｜>",          "<think>",     "</think>",
    "<tool_result>",           "</tool_result>",        "｜DSML｜",
};
constexpr const char* kNoise = "<｜dspark▁noise｜>";

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

struct Word {
  std::vector<int> symbols;  // token ids
  int count = 0;
};

// The merges' workshop: words of the training text as token ids, and the pair that stands most
// often side by side.
class Trainer {
 public:
  explicit Trainer(TokenizerKeys& tokenizer, int first_byte) : out_(tokenizer) {
    for (size_t id = 0; id < out_.tokens.size(); ++id) {
      id_of_[out_.tokens[id]] = static_cast<int>(id);
    }
    std::map<std::string, int> counts;
    const std::string text = tokenizer_internal::training_text();
    for (const std::string& piece : tokenizer_internal::pieces(text)) ++counts[piece];
    for (const auto& [piece, count] : counts) {
      Word word;
      word.count = count;
      for (const char c : piece) word.symbols.push_back(first_byte + static_cast<uint8_t>(c));
      words_.push_back(std::move(word));
    }
  }

  // Adds merges, and a token for each new spelling, until `room` tokens exist or every word is one
  // token.
  void train(size_t room) {
    for (std::pair<int, int> pair; out_.tokens.size() < room && best_pair(&pair);) {
      const std::string left = out_.tokens[static_cast<size_t>(pair.first)];
      const std::string right = out_.tokens[static_cast<size_t>(pair.second)];
      out_.merges.push_back(left + " " + right);
      // Two pairs may spell the same token; it has one id.
      const auto [place, is_new] =
          id_of_.emplace(left + right, static_cast<int>(out_.tokens.size()));
      if (is_new) {
        out_.tokens.push_back(left + right);
        out_.types.push_back(kNormalToken);
      }
      merge(pair, place->second);
    }
  }

 private:
  // The most frequent pair, the one with the smallest ids among equals.
  bool best_pair(std::pair<int, int>* best) const {
    std::unordered_map<uint64_t, int> counts;
    for (const Word& word : words_) {
      for (size_t i = 1; i < word.symbols.size(); ++i) {
        counts[(static_cast<uint64_t>(word.symbols[i - 1]) << 32) |
               static_cast<uint64_t>(word.symbols[i])] += word.count;
      }
    }
    uint64_t key = 0;
    int most = 0;
    for (const auto& [pair, count] : counts) {
      if (count > most || (count == most && pair < key)) {
        most = count;
        key = pair;
      }
    }
    *best = {static_cast<int>(key >> 32), static_cast<int>(key & 0xffffffffu)};
    return most > 0;
  }

  void merge(std::pair<int, int> pair, int merged) {
    for (Word& word : words_) {
      std::vector<int>& s = word.symbols;
      size_t kept = 0;
      for (size_t i = 0; i < s.size(); ++i) {
        const bool hit = i + 1 < s.size() && s[i] == pair.first && s[i + 1] == pair.second;
        s[kept++] = hit ? merged : s[i];
        i += hit ? 1 : 0;
      }
      s.resize(kept);
    }
  }

  TokenizerKeys& out_;
  std::unordered_map<std::string, int> id_of_;
  std::vector<Word> words_;
};

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

int least_tokenizer_vocab() { return static_cast<int>(std::size(kSpecial)) + 256 + 1; }

TokenizerKeys build_tokenizer(int vocab) {
  ROTA_CHECK(vocab >= least_tokenizer_vocab(), "vocabulary", vocab);
  TokenizerKeys out;
  const auto add = [&](std::string token, int type) {
    out.tokens.push_back(std::move(token));
    out.types.push_back(type);
  };
  for (const char* special : kSpecial) add(special, kControlToken);
  for (const std::string& letter : byte_letters()) add(letter, kNormalToken);
  const auto room = static_cast<size_t>(vocab - 1);
  Trainer(out, static_cast<int>(std::size(kSpecial))).train(room);
  while (out.tokens.size() < room) {
    add("<｜reserved▁" + std::to_string(out.tokens.size()) + "｜>", kUnusedToken);
  }
  add(kNoise, kControlToken);
  return out;
}

TokenMap compress_tokens(const TokenizerKeys& tokenizer) {
  std::unordered_map<std::string, uint8_t> byte_of;
  const auto letters = byte_letters();
  for (size_t b = 0; b < letters.size(); ++b) byte_of[letters[b]] = static_cast<uint8_t>(b);
  std::unordered_map<std::string, int> id_of;
  TokenMap map;
  for (size_t id = 0; id < tokenizer.tokens.size(); ++id) {
    const std::string& token = tokenizer.tokens[id];
    std::string key = token;
    if (tokenizer.types[id] == kNormalToken) {
      const std::string text = token_bytes(token, byte_of);
      if (is_utf8(text)) key = normalised(text);
    }
    map.ids.push_back(id_of.emplace(key, static_cast<int>(id_of.size())).first->second);
  }
  map.compressed_vocab = static_cast<int>(id_of.size());
  return map;
}

}  // namespace rota
