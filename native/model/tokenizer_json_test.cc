// tokenizer.json as GGUF keys: what is taken over, and what is left to the file itself.
#include "model/tokenizer_json.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "model/checkpoint_convert.h"
#include "model/checkpoint_fixture.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

using Json = nlohmann::json;

Json split(const std::string& regex) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

// As Hugging Face's library writes one of this family; the line breaks in the last split's classes
// are themselves in one spelling and escapes in the other.
Json tokenizer(bool escaped = true) {
  const std::string cr = escaped ? "\\r" : "\r", lf = escaped ? "\\n" : "\n";
  const std::string words = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^" + cr + lf +
                            "\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[" + cr + lf +
                            "]*|\\s*[" + cr + lf + "]+|\\s+(?!\\S)|\\s+";
  return {{"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "Sequence"},
            {"pretokenizers",
             {split("\\p{N}{1,3}"),
              split("[一-龥぀-ゟ゠-ヿ]+"),
              split(words),
              {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}}},
          {"added_tokens",
           {{{"id", 0}, {"content", "<s>"}, {"special", true}},
            {{"id", 5}, {"content", "<think>"}, {"special", false}}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 1}, {"b", 2}, {"ab", 3}, {"<s>", 0}}},
            {"merges", {"a b"}}}}};
}

ReadTokenizer read(const Json& json, int vocab = 7) {
  auto result = read_tokenizer_json("t", json.dump(), vocab);
  REQUIRE_MESSAGE(result.ok(), result.status().message());
  return std::move(result).value();
}

TEST_CASE("tokens, types and merges come over; ids that are left out are reserved") {
  for (const bool escaped : {true, false}) {
    const ReadTokenizer found = read(tokenizer(escaped));
    REQUIRE(found.keys.has_value());
    CHECK(found.keys->tokens == std::vector<std::string>{"<s>", "a", "b", "ab", "<｜reserved▁4｜>",
                                                         "<think>", "<｜reserved▁6｜>"});
    CHECK(found.keys->types == std::vector<int>{3, 1, 1, 1, 5, 4, 5});
    CHECK(found.keys->merges == std::vector<std::string>{"a b"});
  }
  Json pairs = tokenizer();
  pairs["model"]["merges"] = Json::array({{"a", "b"}});
  CHECK(read(pairs).keys->merges == std::vector<std::string>{"a b"});
}

TEST_CASE("a tokenizer of another kind has no keys, and it is said why") {
  Json other = tokenizer();
  other["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\p{N}";
  CHECK(read(other).why_not == "it splits text in another way");
  CHECK_FALSE(read(other).keys.has_value());
  other = tokenizer();
  other["model"]["type"] = "Unigram";
  CHECK(read(other).why_not == "it is no BPE");
  other = tokenizer();
  other["normalizer"] = {{"type", "NFKC"}};
  CHECK(read(other).why_not == "it normalises text");
  other["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  CHECK(read(other).why_not == "");
}

TEST_CASE("a damaged tokenizer is refused") {
  const auto refused = [](const Json& json) {
    return read_tokenizer_json("t", json.dump(), 7).status().message();
  };
  CHECK(read_tokenizer_json("t", "{", 7).status().message() ==
        "t: is no JSON object (is it whole?)");
  Json json = tokenizer();
  json["model"]["vocab"]["b"] = 7;
  CHECK(refused(json) == "t: token b has id 7, the model has 7");
  json = tokenizer();
  json["model"]["vocab"]["b"] = 1;
  CHECK(refused(json) == "t: id 1 is both a and b");
  json = tokenizer();
  json["added_tokens"][0]["id"] = 3;
  CHECK(refused(json) == "t: id 3 is both ab and <s>");
  json = tokenizer();
  json["model"]["merges"][0] = 1;
  CHECK(refused(json) == "t: merge 0 is no pair of tokens");
}

TEST_CASE("a converted checkpoint has the tokenizer of its folder") {
  const TempDir dir, out;
  checkpoint_fixture().write(dir);
  const auto converted = [&](const std::string& name) {
    const auto checkpoint = Checkpoint::open(dir / "");
    REQUIRE(checkpoint.ok());
    ConvertOptions options;
    options.out = out / name;
    auto files = convert_checkpoint(*checkpoint.value(), options);
    REQUIRE_MESSAGE(files.ok(), files.status().message());
    return files.value().no_tokenizer;
  };
  CHECK(converted("none.gguf") == dir / "tokenizer.json is missing");
  dir.write("tokenizer.json", tokenizer().dump());
  CHECK(converted("with.gguf") == "");
  dir.write("tokenizer_config.json", R"({"add_bos_token":false})");
  CHECK(converted("bare.gguf") == "");
  const auto none = Gguf::open(out / "none.gguf"), with = Gguf::open(out / "with.gguf"),
             bare = Gguf::open(out / "bare.gguf");
  REQUIRE((none.ok() && with.ok() && bare.ok()));
  CHECK_FALSE(none.value().has("tokenizer.ggml.tokens"));
  CHECK(none.value().i32("tokenizer.ggml.eos_token_id").value() == 1);
  CHECK(with.value().find("tokenizer.ggml.tokens")->count == 160);
  CHECK(with.value().string("tokenizer.ggml.pre").value() == "joyai-llm");
  CHECK(*with.value().find("tokenizer.ggml.add_bos_token")->payload == 1);
  CHECK(*bare.value().find("tokenizer.ggml.add_bos_token")->payload == 0);
}

}  // namespace
}  // namespace rota
