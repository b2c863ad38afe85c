// The CPU expert pool against the read bandwidth of the very memory it reads. Owns the windows and
// their order: ceiling, pool, ceiling, ...; prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "bench/random_blobs.h"
#include "bench/spread.h"
#include "experts/expert_pool.h"
#include "probe/read_sum.h"

namespace rota {

struct PoolBenchOptions {
  uint64_t bytes = uint64_t{4} << 30;
  bool huge_pages = true;
  std::vector<Format> formats = {Format::kQ8_0, Format::kQ3_K, Format::kQ2_0, Format::kPTQ1_0};
  std::vector<int> rows = {1, 2, 4, 6, 16};
  int threads = 0;  // the most; 0: all usable cores
  int rounds = 9;
  double window_ms = 80;  // a window is at least one call
  uint64_t seed = 1;
  int top_k = 6;  // distinct experts of a call; every row wants all of them
  BlobShape shape;
};

// One format at one number of rows and of threads: bytes a second.
struct PoolCell {
  int threads = 0;
  Spread pool, ceiling;
};

struct PoolLine {
  Format format = Format::kQ8_0;
  int rows = 0;
  size_t blobs = 0;
  uint64_t blob_bytes = 0;
  std::vector<PoolCell> cells;

  // By the median over the rounds.
  const PoolCell& best_pool() const;
  const PoolCell& best_ceiling() const;
  double ratio() const { return best_pool().pool.median / best_ceiling().ceiling.median; }
};

class PoolBench {
 public:
  // Called between windows: windows done, windows in all, and what comes next.
  using Progress = std::function<void(int done, int all, Format format, int rows)>;

  static Result<std::unique_ptr<PoolBench>> create(const PoolBenchOptions& options);
  // kLoad: the answers are no numbers, or depend on the threads.
  Result<std::vector<PoolLine>> run(const Progress& progress);

  // The parts of run(), for a benchmark that puts windows of its own between: experts of a format,
  // then bytes a second of one window by a number of threads, of those that are tried.
  Status prepare(Format format);
  size_t teams() const { return teams_.size(); }
  int threads_of(size_t team) const { return teams_[team].threads->threads(); }
  double pool_window(size_t team, int rows);
  double ceiling_window(size_t team);

  // Memory that create() takes.
  static uint64_t memory_bytes(const PoolBenchOptions& options);
  const RandomBlobs& blobs() const { return *blobs_; }
  // Of the first format on.
  const char* ceiling_kernel() const { return ceiling_.name; }

 private:
  struct Team {  // what one number of threads computes with
    std::unique_ptr<ThreadPool> threads;
    std::unique_ptr<ExpertPool> experts;
  };

  explicit PoolBench(const PoolBenchOptions& options) : options_(options) {}
  ExpertShape expert_shape() const;
  Status check_answers(Format format);
  std::vector<PoolLine> run_format(Format format, int done, int all, const Progress& progress);
  void next_experts();
  void call(Team& team, int rows, float* y);

  PoolBenchOptions options_;
  std::unique_ptr<RandomBlobs> blobs_;
  std::vector<Team> teams_;
  std::unique_ptr<CallPlan> plan_;
  std::vector<float> x_, weights_, y_;
  std::vector<int> ids_, order_;  // of the call; experts in the order they are taken
  size_t next_ = 0;               // in order_
  uint64_t draws_ = 0;
  std::vector<ExpertJob> jobs_;
  ReadKernel ceiling_{};  // chosen once the memory was touched
  uint64_t cursor_ = 0;   // slice at which the next ceiling window begins
  uint64_t sink_ = 0;
};

}  // namespace rota
