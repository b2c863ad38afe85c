// The decode bench writes its model once and whole, leaves nothing else behind, and compares the
// pool in the engine with the pool alone.
#include "bench/decode_bench.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/temp_dir.h"
#include "base/topology.h"

namespace rota {
namespace {

DecodeBenchOptions small(const std::string& folder) {
  DecodeBenchOptions options;
  options.folder = folder;
  options.config = "mini-s";
  options.machine.threads = 1;
  options.machine.huge_pages = false;
  options.pool_bytes = uint64_t{8} << 20;
  options.shape = {256, 256};
  options.rounds = 2;
  options.tokens = 3;
  options.window_ms = 0;
  return options;
}

std::set<std::string> files_of(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

TEST_CASE("a model is written once, and the pool in decode is measured beside the pool alone") {
  const TempDir folder;
  const std::vector<int> before = allowed_cpus();
  std::filesystem::file_time_type written;
  for (int again = 0; again < 2; ++again) {
    auto bench = DecodeBench::create(small(folder / "models"), [](int, int, const char*) {});
    REQUIRE(bench.ok());
    auto line = bench.value()->run([](int, int, const char*) {});
    REQUIRE(line.ok());
    CHECK(line->threads == 1);
    CHECK(line->decode.n == 4);  // with a ledger and without
    CHECK(line->pool.n == 2);
    CHECK(line->decode.median > 0);
    CHECK(line->of_pool() == line->decode.median / line->pool.median);
    CHECK(line->pool_share.median > 0);
    CHECK(line->pool_share.median <= 1);
    CHECK(line->ledger.low <= line->ledger.high);
    // Every expert of a layer and pass: 8 layers of 4 experts.
    CHECK(line->model_bytes == 8 * 32 * 3 * row_bytes(Format::kQ2_0, 256 * 256).value());
    bench.value().reset();
    CHECK(files_of(folder / "models") == std::set<std::string>{"bench-mini-s-Q2_0.gguf"});
    const auto now = std::filesystem::last_write_time(folder / "models/bench-mini-s-Q2_0.gguf");
    if (again > 0) CHECK(now == written);
    written = now;
  }
  CHECK(allowed_cpus() == before);
}

TEST_CASE("what cannot be written or held is refused, and nothing half-written stays") {
  const TempDir folder;
  const auto nothing = [](int, int, const char*) {};
  DecodeBenchOptions options = small(folder / "models");
  options.format = Format::kI32;
  CHECK(DecodeBench::create(options, nothing).status().code() == Code::kUsage);
  CHECK(files_of(folder / "models").empty());
  options = small(folder / "models");
  options.pool_bytes = uint64_t{1} << 60;
  const auto large = DecodeBench::create(options, nothing);
  CHECK(large.status().code() == Code::kOutOfMemory);
  CHECK(large.status().message().find("lower --gib") != std::string::npos);
  options = small(folder.write("file", "x") + "/models");
  CHECK(DecodeBench::create(options, nothing).status().code() == Code::kIo);
}

}  // namespace
}  // namespace rota
