// What the commands accept and refuse, and the exit codes that follow.
#include "tools/model_tool.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "tools/inspect.h"

namespace rota {
namespace {

TEST_CASE("exit codes of the contract") {
  CHECK(exit_code(Status()) == 0);
  CHECK(exit_code(Status(Code::kUsage, "")) == 2);
  CHECK(exit_code(Status(Code::kLoad, "")) == 3);
  CHECK(exit_code(Status(Code::kIo, "")) == 3);
  CHECK(exit_code(Status(Code::kOutOfMemory, "")) == 4);
}

TEST_CASE("the reading commands take one file and flags in any order") {
  const auto parse = [](std::vector<const char*> words) { return parse_read_arguments(words); };
  const auto all = parse({"--json", "--draft", "d.gguf", "m.gguf"});
  REQUIRE(all.ok());
  CHECK(all.value().file == "m.gguf");
  CHECK(all.value().draft == "d.gguf");
  CHECK(all.value().json);
  CHECK(parse({"m.gguf", "--draft=d"}).value().draft == "d");
  CHECK(parse({}).status().message() == "FILE is missing; see rota-model --help");
  CHECK(parse({"a", "b"}).status().message() == "one FILE is enough, not also 'b'");
  CHECK(parse({"a", "--jsn"}).status().message() == "unknown flag --jsn; did you mean --json?");
  CHECK(parse({"a", "--draft"}).status().message() == "--draft needs a value: --draft PATH");
}

TEST_CASE("synth refuses with one line, and writes what it was asked for") {
  const TempDir dir;
  const std::string out = dir / "m.gguf";
  const auto synth = [](std::vector<const char*> words) { return synth_command(words); };
  CHECK(synth({"--out", out.c_str()}).message() ==
        "--config is missing; there are mini-xs, mini-xs2, mini-s, mini-four, mini-m, wide, "
        "v4.1-flash");
  CHECK(synth({"--config", "mini-xs"}).message() == "--out is missing: --out FILE.gguf");
  CHECK(synth({"--config", "mini-q", "--out", out.c_str()}).message() ==
        "unknown config 'mini-q'; there are mini-xs, mini-xs2, mini-s, mini-four, mini-m, wide, "
        "v4.1-flash");
  CHECK(synth({"--seed", "-1"}).message() ==
        "--seed: \"-1\" is not a whole number from 0 to 2^64 - 1");
  CHECK(synth({"--expert-format", "Q9"})
            .message()
            .starts_with("--expert-format: unknown format 'Q9'"));
  CHECK(synth({"--layout", "x"}).message() == "--layout: \"x\" is none of ours, a, b");
  CHECK(synth({"--values", "x"}).message() == "--values: \"x\" is none of normal, grid and random");
  CHECK(synth({"--config", "mini-xs", "--out", out.c_str(), "--hot-experts", "0.2"}).message() ==
        "--hot-experts and --hot-lookups need each other");
  CHECK(synth({"--shards", "0"}).message() == "--shards: 0 is not in 1..99999");
  CHECK(synth({"--config", "mini-xs", "--out", "/no/such/folder/m.gguf"}).message() ==
        "/no/such/folder/m.gguf: cannot create: No such file or directory");
  CHECK(std::filesystem::is_empty(dir / ""));
  CHECK(
      synth({"--config", "mini-xs", "--expert-format", "Q8_0", "--seed", "7", "--out", out.c_str()})
          .ok());
}

TEST_CASE("extract-engram takes several words after --from, and says what is missing") {
  const TempDir dir;
  const std::string out = dir / "t.gguf", a = dir / "a.safetensors", b = dir / "b.safetensors";
  const auto extract = [](std::vector<const char*> words) { return extract_command(words); };
  CHECK(extract({"--out", out.c_str()}).message() ==
        "--from is missing: --from SHARD47 SHARD48, or their folder");
  CHECK(extract({"--from", a.c_str(), b.c_str()}).message() == "--out is missing: --out FILE.gguf");
  CHECK(extract({"--from", a.c_str(), "--verify", "no", "--out", out.c_str()}).message() ==
        "--verify: \"no\" is neither on nor off");
  dir.write("a.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  const Status second = extract({"--from", a.c_str(), b.c_str(), "--out", out.c_str()});
  CHECK(second.message() == b + ": cannot open: No such file or directory");
  CHECK(extract({"--from", a.c_str(), "--out", out.c_str()}).message() ==
        a + ": no tensor layers.N.engram.embed.weight in 1 files");
  CHECK(extract({"stray", "--out", out.c_str()}).code() == Code::kUsage);
}

TEST_CASE("convert takes one checkpoint and --out in any order, and says what is missing") {
  const TempDir dir;
  const std::string out = dir / "m.gguf", folder = dir / "none";
  const auto convert = [](std::vector<const char*> words) { return convert_command(words); };
  CHECK(convert({"--out", out.c_str()}).message() ==
        "CHECKPOINT is missing: the folder that holds config.json");
  CHECK(convert({folder.c_str()}).message() == "--out is missing: --out FILE.gguf");
  CHECK(convert({"a", "--out=m.gguf", "b"}).message() == "one CHECKPOINT is enough, not also 'b'");
  CHECK(convert({"--ot", out.c_str(), "a"}).message() == "unknown flag --ot; did you mean --out?");
  CHECK(convert({"a", "--engram-tables", "no"}).code() == Code::kUsage);
  CHECK(convert({"--out", out.c_str(), folder.c_str()}).message() ==
        folder + ": is no folder; name the one that holds config.json and the safetensors files");
}

TEST_CASE("inspect counts experts by format, bytes, keys and tensors") {
  const TempDir dir;
  const std::string out = dir / "m.gguf";
  const std::vector<const char*> synth = {"--config", "mini-xs", "--expert-format",
                                          "Q8_0",     "--out",   out.c_str()};
  REQUIRE(synth_command(synth).ok());
  const auto json = inspect_json({out, "", "", true});
  REQUIRE_MESSAGE(json.ok(), json.status().message());
  const auto& j = json.value();
  constexpr int kBlob = 3 * 64 * 32 / 32 * 34;
  CHECK(j["experts"]["target"]["Q8_0"]["experts"] == 64);
  CHECK(j["experts"]["target"]["Q8_0"]["blob_bytes"] == kBlob);
  CHECK(j["experts"]["draft"]["Q8_0"]["experts"] == 12);
  CHECK(j["bytes"]["experts"] == 64 * kBlob);
  CHECK(j["family"] == "ours");
  CHECK(j["config"]["layers"] == 8);
  CHECK(j["keys"]["deepseek41.block_count"] == 8);
  CHECK(j["keys"]["deepseek41.expert_weights_norm"] == true);
  CHECK(j["keys"]["deepseek41.engram.token_map"] == "i32[128]");
  CHECK(j["files"].size() == 2);
  CHECK(j["tensors"][0]["name"] == "token_embd.weight");
  CHECK(j["tensors"][0]["ne"] == nlohmann::ordered_json::array({64, 128}));
  const auto print = fingerprint_json({out, "", "", true});
  REQUIRE(print.ok());
  CHECK(print.value()["fingerprint"] == j["fingerprint"]);
  CHECK(print.value()["draft_fingerprint"] == j["draft_fingerprint"]);
  CHECK(j["draft_fingerprint"] != j["fingerprint"]);
  std::filesystem::remove(dir / "m.dspark.gguf");
  const auto alone = fingerprint_json({out, "", "", true});
  REQUIRE(alone.ok());
  CHECK(alone.value()["fingerprint"] == j["fingerprint"]);
  CHECK(alone.value()["draft_fingerprint"].is_null());
  CHECK(inspect_json({dir / "none", "", "", true}).status().code() == Code::kLoad);
}

}  // namespace
}  // namespace rota
