// The benchmarks' rules: blobs are distinct, repeatable and made of weights; a line takes its best
// numbers of threads by the median; the pool bench refuses what it cannot measure.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "bench/busy_processes.h"
#include "bench/neighbour_bench.h"
#include "bench/pool_bench.h"
#include "bench/random_blobs.h"
#include "bench/spread.h"

namespace rota {
namespace {

constexpr BlobShape kSmall{512, 256};

ThreadPoolOptions two_threads() {
  ThreadPoolOptions options;
  options.threads = 2;
  options.pin = false;
  return options;
}

std::string bytes_of(const RandomBlobs& blobs, size_t i) {
  return {reinterpret_cast<const char*>(blobs.blob(i)), blobs.layout().bytes};
}

TEST_CASE("every blob has bits of its own, the same for the same seed") {
  ThreadPool threads(two_threads());
  auto blobs = RandomBlobs::allocate(uint64_t{4} << 20, kSmall, false);
  REQUIRE(blobs.ok());
  REQUIRE(blobs->fill(Format::kQ2_0, 7, threads).ok());
  REQUIRE(blobs->count() > 10);
  std::set<std::string> all;
  for (size_t i = 0; i < blobs->count(); ++i) all.insert(bytes_of(*blobs, i));
  CHECK(all.size() == blobs->count());
  const std::string third = bytes_of(*blobs, 3);
  REQUIRE(blobs->fill(Format::kQ2_0, 8, threads).ok());
  CHECK(bytes_of(*blobs, 3) != third);
  REQUIRE(blobs->fill(Format::kQ2_0, 7, threads).ok());
  CHECK(bytes_of(*blobs, 3) == third);
}

TEST_CASE("too little memory for two experts is refused with the sizes") {
  ThreadPool threads(two_threads());
  auto blobs = RandomBlobs::allocate(uint64_t{2} << 20, BlobShape{}, false);
  REQUIRE(blobs.ok());
  const Status status = blobs->fill(Format::kQ8_0, 1, threads);
  CHECK(status.code() == Code::kUsage);
  CHECK(status.message() == "Q8_0: 2097152 bytes hold fewer than two experts of 37601280");
}

TEST_CASE("spread") {
  const Spread odd = spread_of({5, 1, 3, 2, 4});
  CHECK(odd.n == 5);
  CHECK(odd.median == 3);
  CHECK(odd.low == 2);
  CHECK(odd.high == 4);
  CHECK(odd.best == 5);
  CHECK(spread_of({4, 1}).median == 2.5);
  CHECK(spread_of({7}).low == 7);
}

TEST_CASE("the median's interval is made of order statistics") {
  std::vector<double> values;
  for (int i = 1; i <= 20; ++i) values.push_back(i);
  // Of 20 values the 6th and the 15th: P(Binomial(20, 1/2) <= 5) = 2.07 %.
  CHECK(median_interval(values).median == 10.5);
  CHECK(median_interval(values).low == 6);
  CHECK(median_interval(values).high == 15);
  CHECK(median_interval({3, 1, 2}).low == 1);
  CHECK(median_interval({3, 1, 2}).high == 3);
  CHECK(median_interval({4}).low == 4);
}

TEST_CASE("a line compares the best pool with the best ceiling, each at its own threads") {
  PoolLine line;
  line.cells = {{1, {3, 8, 7, 9, 9}, {3, 10, 9, 11, 11}},
                {2, {3, 6, 5, 99, 99}, {3, 20, 19, 21, 21}},
                {4, {3, 7, 6, 8, 8}, {3, 16, 15, 17, 17}}};
  CHECK(line.best_pool().threads == 1);
  CHECK(line.best_ceiling().threads == 2);
  CHECK(line.ratio() == doctest::Approx(0.4));
}

TEST_CASE("the pool bench measures every format and number of rows") {
  PoolBenchOptions options;
  options.bytes = uint64_t{16} << 20;
  options.huge_pages = false;
  options.shape = {256, 256};
  options.formats = {Format::kQ3_K, Format::kQ8_0};
  options.rows = {1, 3};
  options.threads = 2;
  options.rounds = 2;
  options.window_ms = 0;
  auto bench = PoolBench::create(options);
  REQUIRE(bench.ok());
  int steps = 0, all_steps = 0;
  const auto lines = bench.value()->run([&](int done, int all, Format, int) {
    CHECK(done == steps++);
    all_steps = all;
  });
  REQUIRE(lines.ok());
  CHECK(steps == 16);  // 2 formats, 2 rounds, 2 numbers of rows, 2 of threads
  CHECK(all_steps == 16);
  REQUIRE(lines.value().size() == 4);
  for (const PoolLine& line : lines.value()) {
    REQUIRE(line.cells.size() == 2);
    CHECK(line.cells[0].threads == 1);
    CHECK(line.cells[0].pool.n == 2);
    CHECK(line.cells[1].ceiling.n == 4);  // of both numbers of rows
    CHECK(line.ratio() > 0);
  }
  CHECK(lines.value()[0].blob_bytes ==
        blob_layout(Format::kQ3_K, Format::kQ3_K, Format::kQ3_K, 256, 256)->bytes);
}

TEST_CASE("fewer experts than a call wants are refused") {
  PoolBenchOptions options;
  options.bytes = uint64_t{256} << 20;
  options.huge_pages = false;
  options.formats = {Format::kQ8_0};
  options.top_k = 9;
  options.threads = 1;
  auto bench = PoolBench::create(options);
  REQUIRE(bench.ok());
  const auto lines = bench.value()->run([](int, int, Format, int) {});
  CHECK(lines.status().message() == "Q8_0: only 7 experts fit; raise --gib");
}

// What the kernel says of a process: 'R' runs, 'T' is stopped, '?' is gone.
char state_of(pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? '?' : text[name_end + 2];
}

// A signal takes effect when the process is next scheduled, which a loaded machine can put off.
bool comes_to(pid_t id, char state) {
  for (int i = 0; i < 2000 && state_of(id) != state; ++i) usleep(1000);
  return state_of(id) == state;
}

TEST_CASE("busy processes run as many as asked and are gone at the end") {
  std::vector<pid_t> ids;
  {
    auto started = BusyProcesses::start(2);
    REQUIRE(started.ok());
    BusyProcesses busy = std::move(started).value();
    ids = busy.ids();
    REQUIRE(ids.size() == 2);
    CHECK(comes_to(ids[0], 'T'));
    busy.let_run(1);
    CHECK(comes_to(ids[0], 'R'));
    CHECK(state_of(ids[1]) == 'T');
    busy.let_run(0);
    CHECK(comes_to(ids[0], 'T'));
  }
  for (const pid_t id : ids) CHECK(state_of(id) == '?');
}

TEST_CASE("the neighbour bench has a cell for nobody, one and as many as threads") {
  NeighbourOptions options;
  options.threads = 2;
  options.rounds = 1;
  options.window_ms = 0;
  auto busy = BusyProcesses::start(2);
  REQUIRE(busy.ok());
  NeighbourBench bench(options, std::move(busy).value());
  int steps = 0;
  const auto lines = bench.run([&steps](int done, int all, int) {
    CHECK(done == steps++);
    CHECK(all == 6);
  });
  CHECK(steps == 6);
  REQUIRE(lines.size() == 2);
  for (const NeighbourLine& line : lines) {
    REQUIRE(line.cells.size() == 3);
    CHECK(line.cells[0].slowdown == 1);
    CHECK(line.cells[1].neighbours == 1);
    CHECK(line.cells[1].fair == 1.5);
    CHECK(line.cells[2].fair == 2);
    CHECK(line.cells[2].pass_ms.median > 0);
  }
}

}  // namespace
}  // namespace rota
