// What is read of tokenizer.json, and what it must be for the keys to mean the same.
#include "model/tokenizer_json.h"

#include <nlohmann/json.hpp>

namespace rota {
namespace {

using Json = nlohmann::json;

// The splits that "joyai-llm" stands for (src/model/pre-tokenizers.ts has them too).
constexpr const char* kSplits[] = {
    R"(\p{N}{1,3})",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

const Json& at(const Json& object, const char* key) {
  static const Json kNull;
  return object.is_object() && object.contains(key) ? object[key] : kNull;
}

// A line break in a pattern may be written as itself.
std::string spelled_out(const std::string& pattern) {
  std::string out;
  for (const char c : pattern) out += c == '\r' ? "\\r" : c == '\n' ? "\\n" : std::string(1, c);
  return out;
}

// The three splits in their order, then bytes.
bool has_known_splits(const Json& pre) {
  if (at(pre, "type") != "Sequence" || !at(pre, "pretokenizers").is_array()) return false;
  const Json& steps = at(pre, "pretokenizers");
  if (steps.size() != std::size(kSplits) + 1) return false;
  for (size_t i = 0; i < std::size(kSplits); ++i) {
    const Json& pattern = at(at(steps[i], "pattern"), "Regex");
    if (at(steps[i], "type") != "Split" || at(steps[i], "behavior") != "Isolated" ||
        at(steps[i], "invert") == true || !pattern.is_string() ||
        spelled_out(pattern.get<std::string>()) != kSplits[i]) {
      return false;
    }
  }
  const Json& bytes = steps[std::size(kSplits)];
  return at(bytes, "type") == "ByteLevel" && at(bytes, "add_prefix_space") == false &&
         at(bytes, "use_regex") == false;
}

bool is_nothing(const Json& normalizer) {
  return normalizer.is_null() ||
         (at(normalizer, "type") == "Sequence" && at(normalizer, "normalizers") == Json::array());
}

// Empty where the keys can say it all.
std::string kind_defect(const Json& json) {
  const Json& model = at(json, "model");
  if (at(model, "type") != "BPE") return "it is no BPE";
  if (!is_nothing(at(json, "normalizer"))) return "it normalises text";
  if (!has_known_splits(at(json, "pre_tokenizer"))) return "it splits text in another way";
  if (at(model, "byte_fallback") == true || at(model, "ignore_merges") == true) {
    return "its merges have exceptions";
  }
  return "";
}

class Reader {
 public:
  Reader(const std::string& path, const Json& json, int vocab)
      : path_(path), json_(json), vocab_(static_cast<size_t>(vocab)) {}

  Result<TokenizerKeys> read() {
    keys_.tokens.resize(vocab_);
    keys_.types.assign(vocab_, kUnusedToken);
    const Json& vocabulary = at(at(json_, "model"), "vocab");
    if (!vocabulary.is_object()) return fail("model.vocab is no object");
    for (const auto& [token, id] : vocabulary.items()) {
      ROTA_RETURN_IF_ERROR(put(token, id, kNormalToken));
    }
    ROTA_RETURN_IF_ERROR(read_added());
    ROTA_RETURN_IF_ERROR(read_merges());
    for (size_t id = 0; id < vocab_; ++id) {
      if (keys_.types[id] != kUnusedToken) continue;
      keys_.tokens[id] = "<｜reserved▁" + std::to_string(id) + "｜>";
    }
    return std::move(keys_);
  }

 private:
  Status fail(const std::string& message) const {
    return Status(Code::kLoad, path_ + ": " + message);
  }

  Status put(const std::string& token, const Json& id, int type) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= vocab_) {
      return fail("token " + token + " has id " + id.dump() + ", the model has " +
                  std::to_string(vocab_));
    }
    const auto place = id.get<size_t>();
    // An added token may be in the vocabulary as well.
    const bool free = keys_.types[place] == kUnusedToken;
    if (!free && keys_.tokens[place] != token) {
      return fail("id " + std::to_string(place) + " is both " + keys_.tokens[place] + " and " +
                  token);
    }
    keys_.tokens[place] = token;
    keys_.types[place] = type;
    return Status();
  }

  Status read_added() {
    const Json& added = at(json_, "added_tokens");
    if (added.is_null()) return Status();
    if (!added.is_array()) return fail("added_tokens is no list");
    for (const Json& entry : added) {
      const Json& content = at(entry, "content");
      if (!content.is_string()) return fail("an added token has no content");
      const int type = at(entry, "special") == true ? kControlToken : kUserToken;
      ROTA_RETURN_IF_ERROR(put(content.get<std::string>(), at(entry, "id"), type));
    }
    return Status();
  }

  // "left right", or the two in a list.
  Status read_merges() {
    const Json& merges = at(at(json_, "model"), "merges");
    if (!merges.is_array()) return fail("model.merges is no list");
    for (const Json& merge : merges) {
      const bool pair =
          merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
      if (!pair && !merge.is_string()) {
        return fail("merge " + std::to_string(keys_.merges.size()) + " is no pair of tokens");
      }
      keys_.merges.push_back(pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                                  : merge.get<std::string>());
    }
    return Status();
  }

  const std::string& path_;
  const Json& json_;
  size_t vocab_;
  TokenizerKeys keys_;
};

}  // namespace

Result<ReadTokenizer> read_tokenizer_json(const std::string& path, std::string_view text,
                                          int vocab) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Status(Code::kLoad, path + ": is no JSON object (is it whole?)");
  ReadTokenizer read;
  read.why_not = kind_defect(json);
  if (!read.why_not.empty()) return read;
  ROTA_ASSIGN_OR_RETURN(read.keys, Reader(path, json, vocab).read());
  return read;
}

Result<bool> read_add_bos(const std::string& path, std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Status(Code::kLoad, path + ": is no JSON object (is it whole?)");
  const Json& add = at(json, "add_bos_token");
  return add.is_boolean() ? add.get<bool>() : true;
}

}  // namespace rota
