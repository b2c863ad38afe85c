// Passes made of arithmetic in registers: what is measured is the waiting of threads for each
// other.
#include "bench/neighbour_bench.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>

#include "base/clock.h"
#include "base/rng.h"

namespace rota {
namespace {

// Work of a fixed length, not of a fixed time: a thread that is put aside must still do it.
uint64_t work(int turns, uint64_t seed) {
  for (int i = 0; i < turns; ++i) seed = splitmix64(seed);
  return seed;
}

constexpr int kShortTurns = 2'000;  // some 10 microseconds
constexpr int kShortSteps = 1000;
constexpr int kLongTurns = 400'000;  // some 1,500
constexpr int kLongSteps = 8;
constexpr int kTasksPerThread = 8;  // as the expert pool cuts its work

void step(ThreadPool& threads, int turns) {
  std::atomic<uint64_t> sum{0};
  const int tasks = threads.threads() * kTasksPerThread;
  threads.run(tasks, [&](int task) {
    sum.fetch_add(work(turns / kTasksPerThread, static_cast<uint64_t>(task)),
                  std::memory_order_relaxed);
  });
}

ThreadPoolOptions pool_of(const NeighbourOptions& given) {
  ThreadPoolOptions options;
  options.threads = given.threads;
  options.spin_us = given.spin_us;
  options.name = "rota-bench";
  return options;
}

}  // namespace

NeighbourBench::NeighbourBench(const NeighbourOptions& options, BusyProcesses neighbours)
    : options_(options),
      neighbours_(std::move(neighbours)),
      threads_(std::make_unique<ThreadPool>(pool_of(options))) {
  threads_->place_caller();  // as the engine's compute thread is
}

NeighbourBench::~NeighbourBench() { threads_->release_caller(); }

void NeighbourBench::barriers_pass() {
  for (int i = 0; i < kShortSteps; ++i) step(*threads_, kShortTurns);
}

void NeighbourBench::experts_pass() {
  for (int i = 0; i < kLongSteps; ++i) step(*threads_, kLongTurns);
}

double NeighbourBench::window_ms(void (NeighbourBench::*pass)()) {
  const int64_t begin = now_ns();
  const auto end = begin + static_cast<int64_t>(options_.window_ms * 1e6);
  int passes = 0;
  int64_t now = begin;
  for (; passes == 0 || now < end; now = now_ns(), ++passes) (this->*pass)();
  return static_cast<double>(now - begin) * 1e-6 / passes;
}

std::vector<NeighbourLine> NeighbourBench::run(const Progress& progress) {
  const std::set<int> distinct = {0, 1, threads()};
  const std::vector<int> counts(distinct.begin(), distinct.end());
  struct Kind {
    const char* name;
    void (NeighbourBench::*pass)();
  };
  const Kind kinds[] = {{"barriers", &NeighbourBench::barriers_pass},
                        {"experts", &NeighbourBench::experts_pass}};
  std::vector<std::vector<double>> ms(std::size(kinds) * counts.size());
  const int all = options_.rounds * static_cast<int>(ms.size());
  int done = 0;
  for (int round = 0; round < options_.rounds; ++round) {
    for (size_t n = 0; n < counts.size(); ++n) {
      neighbours_.let_run(counts[n]);
      for (size_t k = 0; k < std::size(kinds); ++k) {
        progress(done++, all, counts[n]);
        ms[k * counts.size() + n].push_back(window_ms(kinds[k].pass));
      }
    }
  }
  neighbours_.let_run(0);
  std::vector<NeighbourLine> lines;
  for (size_t k = 0; k < std::size(kinds); ++k) {
    NeighbourLine line{kinds[k].name, {}};
    for (size_t n = 0; n < counts.size(); ++n) {
      NeighbourCell cell{counts[n], spread_of(ms[k * counts.size() + n]), 0, 0};
      const double alone = n == 0 ? cell.pass_ms.median : line.cells.front().pass_ms.median;
      cell.slowdown = cell.pass_ms.median / alone;
      cell.fair = 1 + static_cast<double>(counts[n]) / threads();
      line.cells.push_back(cell);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace rota
