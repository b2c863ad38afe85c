// How much longer a pass takes beside busy processes on the same cores. Owns two kinds of pass and
// the order of the windows; the neighbours are started by the caller.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "bench/busy_processes.h"
#include "bench/spread.h"

namespace rota {

struct NeighbourOptions {
  int threads = 0;  // 0: all usable cores
  int spin_us = ThreadPoolOptions().spin_us;
  int rounds = 7;
  double window_ms = 400;  // long against the slices in which a scheduler shares a core
};

struct NeighbourCell {
  int neighbours = 0;
  Spread pass_ms;
  double slowdown = 0;  // against the pass without neighbours
  double fair = 0;      // 1 + neighbours / threads: what equal shares of the cores cost
};

struct NeighbourLine {
  const char* pass = "";  // "barriers" or "experts"
  std::vector<NeighbourCell> cells;
};

// A pass with many short parallel steps, as a small model's dense half has, and one with few long
// ones, as the experts of a big model.
class NeighbourBench {
 public:
  using Progress = std::function<void(int done, int all, int neighbours)>;

  NeighbourBench(const NeighbourOptions& options, BusyProcesses neighbours);
  ~NeighbourBench();
  int threads() const { return threads_->threads(); }
  std::vector<NeighbourLine> run(const Progress& progress);

 private:
  void barriers_pass();
  void experts_pass();
  double window_ms(void (NeighbourBench::*pass)());

  NeighbourOptions options_;
  BusyProcesses neighbours_;
  std::unique_ptr<ThreadPool> threads_;
};

}  // namespace rota
