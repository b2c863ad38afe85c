// Sizes, strata's options and the memory refusal: what is accepted, and the one line for what is
// not.
#include "engines/strata/options.h"

#include <doctest/doctest.h>

#include <map>

#include "base/temp_dir.h"
#include "engines/memory_guard.h"
#include "engines/size_value.h"

namespace rota {
namespace {

uint64_t bytes(std::string_view text, uint64_t whole = 1000) {
  const auto size = parse_size(text);
  REQUIRE(size.ok());
  return size.value().of(whole);
}

Result<ParsedOptions> parse(std::vector<const char*> arguments,
                            std::map<std::string, const char*> shell = {}) {
  return parse_strata_options(arguments, [&shell](const char* name) {
    const auto at = shell.find(name);
    return at == shell.end() ? nullptr : at->second;
  });
}

}  // namespace

TEST_CASE("sizes are bytes with a binary unit or a share") {
  CHECK(bytes("0") == 0);
  CHECK(bytes("17B") == 17);
  CHECK(bytes("2KiB") == 2048);
  CHECK(bytes("1.5MiB") == 1572864);
  CHECK(bytes("3GiB") == uint64_t{3} << 30);
  CHECK(bytes("1TiB") == uint64_t{1} << 40);
  CHECK(bytes("25%") == 250);
  CHECK(bytes("33.3%", 3) == 1);
  CHECK(bytes("100%", UINT64_C(288780000000)) == UINT64_C(288780000000));
  for (const char* bad :
       {"", "x", "-1MiB", "nanMiB", "infGiB", "1e30GiB", "3 MiB", "3mib", "101%"}) {
    CAPTURE(bad);
    CHECK(parse_size(bad).status().code() == Code::kUsage);
  }
  CHECK(format_size(900) == "900 B");
  CHECK(format_size(1572864) == "1.5 MiB");
  CHECK(format_gib(uint64_t{3} << 29) == "1.50 GiB");
}

TEST_CASE("flags take their value beside them or after =") {
  const auto parsed = parse({"--model", "m.gguf", "--slots=10%", "--pcie", "0.5", "--pin", "off"});
  REQUIRE(parsed.ok());
  const StrataOptions& o = parsed.value().options;
  CHECK(o.model == "m.gguf");
  CHECK(o.slots.share == doctest::Approx(0.1));
  CHECK(o.pcie == 0.5);
  CHECK(!o.pin);
  CHECK(!o.depth.has_value());
  CHECK(parse({"--model"}).status().message() == "--model needs a value: --model PATH");
  CHECK(parse({"--help=yes"}).status().message() == "--help takes no value");
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
  CHECK(o.threads == 48);
  REQUIRE(o.from_environment.size() == 5);
  CHECK(o.environment_notes ==
        std::vector<std::string>{"CONF is set in the environment and not read: write "
                                 "STRATA_DSPARK_CONF, or give --conf"});
  const auto bad = parse({"--model", "m.gguf"}, {{"STRATA_LRU_WIN", "-1"}});
  CHECK(bad.status().message() == "STRATA_LRU_WIN: -1 is not in 0..1048576");
  CHECK(bad.status().code() == Code::kUsage);
  CHECK(parse({"--help"}, {{"STRATA_LRU_WIN", "-1"}}).ok());
}

TEST_CASE("the memory that is there is the least of the machine's and every group's") {
  const auto available = [](const std::string& text) {
    return memory_internal::parse_mem_available(text);
  };
  CHECK(available("MemTotal:  9 kB\nMemAvailable:    2048 kB\n") == 2048 * 1024);
  CHECK(available("MemTotal: 9 kB\n") == UINT64_MAX);
  const TempDir root;
  std::filesystem::create_directories(root / "a/b");
  std::filesystem::create_directories(root / "memory/x");
  root.write("a/memory.max", "1000\n");
  root.write("a/memory.current", "400\n");
  root.write("a/b/memory.max", "max\n");
  root.write("a/b/memory.current", "100\n");
  root.write("memory/x/memory.limit_in_bytes", "500\n");
  root.write("memory/x/memory.usage_in_bytes", "700\n");
  const std::string base = (root / "");
  CHECK(memory_internal::cgroup_headroom("0::/a/b\n", base) == 600);
  CHECK(memory_internal::cgroup_headroom("0::/\n", base) == UINT64_MAX);
  CHECK(memory_internal::cgroup_headroom("5:cpu,memory:/x\n0::/a\n", base) == 0);
  CHECK(memory_internal::cgroup_headroom("5:cpuset:/x\nnonsense\n", base) == UINT64_MAX);
  CHECK(memory_available().bytes > 0);
}

TEST_CASE("a refusal names the parts, the limit and the largest part's knob") {
  const uint64_t gib = uint64_t{1} << 30;
  const std::vector<MemoryNeed> needs = {
      {"slots", "--slots", 2 * gib}, {"arena", "--arena", 6 * gib}, {"dense", nullptr, 9 * gib}};
  CHECK(check_memory(needs, {20 * gib, "MemAvailable"}).ok());
  const Status status = check_memory(needs, {15 * gib, "MemAvailable"});
  CHECK(status.code() == Code::kOutOfMemory);
  CHECK(
      status.message() ==
      "out of memory: asked 17.00 GiB (slots 2.00 GiB, arena 6.00 GiB, dense 9.00 GiB), available "
      "15.00 GiB by MemAvailable; lower --arena by 2.06 GiB or more");
  CHECK(check_memory(needs, {gib, "MemAvailable"}).message().find("; lower --arena") !=
        std::string::npos);
}

}  // namespace rota
