// Sizes, strata's options and the memory refusal: what is accepted, and the one line for what is
// not.
#include "engines/strata/options.h"

#include <doctest/doctest.h>

#include <map>

namespace rota {
namespace {

Result<ParsedOptions> parse(std::vector<const char*> arguments,
                            std::map<std::string, const char*> shell = {}) {
  return parse_strata_options(arguments, [&shell](const char* name) {
    const auto at = shell.find(name);
    return at == shell.end() ? nullptr : at->second;
  });
}

}  // namespace

TEST_CASE("flags take their value beside them or after =") {
  const auto parsed =
      parse({"--model", "m.gguf", "--slots=10%", "--pcie", "0.5", "--affinity", "none"});
  REQUIRE(parsed.ok());
  const StrataOptions& o = parsed.value().options;
  CHECK(o.model == "m.gguf");
  CHECK(o.slots.share == doctest::Approx(0.1));
  CHECK(o.pcie.share == 0.5);
  CHECK(o.machine.affinity.kind == Affinity::Kind::kNone);
  CHECK(!o.depth.has_value());
  CHECK(parse({"--model"}).status().message() == "--model needs a value: --model PATH");
  CHECK(parse({"--help=yes"}).status().message() == "--help takes no value");
}

TEST_CASE("the tiers' flags keep their ranges, and words stand for numbers where they may") {
  const auto options = [](std::vector<const char*> words) {
    words.insert(words.end(), {"--model", "m.gguf"});
    const auto parsed = parse(words);
    REQUIRE_MESSAGE(parsed.ok(), parsed.status().message());
    return parsed.value().options;
  };
  const auto refusal = [](std::vector<const char*> words) {
    words.insert(words.end(), {"--model", "m.gguf"});
    return parse(words).status().message();
  };
  const StrataOptions plain = options({});
  CHECK(plain.slots.share == 0.25);
  CHECK(plain.arena.share == 1);
  CHECK(plain.margin.bytes == uint64_t{1} << 30);
  CHECK(plain.prompt_bias == 0);
  CHECK(!plain.assume_memory.has_value());
  CHECK(options({"--slots", "4288x"}).slots.limit() == 4288);
  CHECK(options({"--slots", "auto"}).slots.kind == SizeValue::Kind::kAuto);
  CHECK(options({"--pcie", "auto"}).pcie.machine);
  CHECK(!options({"--pcie", "0.5"}).pcie.machine);
  CHECK(options({"--batch-pcie=auto"}).batch_pcie.machine);
  CHECK(options({"--prefetch", "0.7"}).prefetch == 0.7);
  CHECK(options({"--pin-share", "0.5"}).pin_share == 0.5);
  CHECK(options({"--assume-memory", "128GiB"}).assume_memory == uint64_t{128} << 30);
  CHECK(options({"--route-bias", "1", "--prompt-bias", "on"}).prompt_bias == 1);
  CHECK(options({"--route-bias", "1", "--prompt-bias", "0.5"}).prompt_bias == 0.5);
  CHECK(options({"--prompt-bias", "off"}).prompt_bias == 0);
  CHECK(options({"--skip-miss", "0.1", "--skip-file=0.2", "--renorm-skip", "on"}).renorm_skip);
  CHECK(refusal({"--arena", "auto"}).starts_with("--arena: \"auto\" is not a size"));
  CHECK(refusal({"--margin", "5%"}).starts_with("--margin: \"5%\": unknown unit"));
  CHECK(refusal({"--pcie", "1.5"}) == "--pcie: 1.5 is not in 0..1");
  CHECK(refusal({"--pin-share", "2"}) == "--pin-share: 2 is not in 0..1");
  CHECK(refusal({"--skip-miss", "1.1"}) == "--skip-miss: 1.1 is not in 0..1");
  CHECK(refusal({"--renorm-skip", "on"}) == "--renorm-skip needs --skip-miss T or --skip-file T");
  CHECK(refusal({"--prompt-bias", "1"}) ==
        "--prompt-bias needs --route-bias D or --route-bias-file D");
}

TEST_CASE("every flag of the help is accepted by the parser") {
  const std::string help = parse({"--help"}).value().text;
  for (size_t at = help.find("\n  --"); at != std::string::npos; at = help.find("\n  --", at + 1)) {
    const std::string name = help.substr(at + 3, help.find(' ', at + 3) - at - 3);
    const auto parsed = parse({name.c_str()});
    CAPTURE(name);
    CHECK(parsed.status().message().find("unknown flag") == std::string::npos);
  }
}

TEST_CASE("the family's variables stand in for flags, and a flag wins") {
  const auto parsed =
      parse({"--model", "m.gguf", "--depth", "1"}, {{"STRATA_TIER_BATCH_PCIE", "0.0"},
                                                    {"STRATA_LRU_WIN", "8"},
                                                    {"STRATA_DSPARK_DEPTH", "4"},
                                                    {"STRATA_DSPARK_CONF", "0.5"},
                                                    {"STRATA_PROMPT_BATCH", "12288"},
                                                    {"DS4_THREADS", "48"},
                                                    {"CONF", "0.1"}});
  REQUIRE(parsed.ok());
  const StrataOptions& o = parsed.value().options;
  CHECK(o.lru_window == 8);
  CHECK(o.depth == 1);
  CHECK(o.confidence == 0.5);
  CHECK(o.prompt_batch == 12288);
  CHECK(o.machine.threads == 48);
  REQUIRE(o.from_environment.size() == 5);
  CHECK(o.environment_notes ==
        std::vector<std::string>{"CONF is set in the environment and not read: write "
                                 "STRATA_DSPARK_CONF, or give --conf"});
  const auto bad = parse({"--model", "m.gguf"}, {{"STRATA_LRU_WIN", "-1"}});
  CHECK(bad.status().message() == "STRATA_LRU_WIN: -1 is not in 0..1048576");
  CHECK(bad.status().code() == Code::kUsage);
  CHECK(parse({"--help"}, {{"STRATA_LRU_WIN", "-1"}}).ok());
}

}  // namespace rota
