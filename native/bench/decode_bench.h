// The CPU pool inside a real decode against the pool alone, and a decode that writes its ledger
// against one that does not. Owns the model file, the engine and the order of the windows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/pool_bench.h"
#include "bench/spread.h"
#include "engines/strata/strata_engine.h"

namespace rota {

struct DecodeBenchOptions {
  std::string folder = ".";  // of the model, which is written there once
  std::string config = "wide";
  Format format = Format::kQ2_0;
  MachineOptions machine;
  uint64_t pool_bytes = uint64_t{4} << 30;  // of the pool that is measured alone
  BlobShape shape;                          // of its experts: the config's
  int rounds = 25;
  int tokens = 8;  // of a decode window
  double window_ms = 80;
};

struct DecodeLine {
  Format format = Format::kQ2_0;
  int threads = 0;           // of the engine
  uint64_t model_bytes = 0;  // of its routed experts
  Spread decode;             // bytes a second over the pool's busy time, in decode
  Spread pool, ceiling;      // of the pool alone and of its memory, each at its best threads
  int pool_threads = 0, ceiling_threads = 0;
  Spread tokens_per_s, pool_share;  // pool_share: of a pass's time
  // What a ledger costs: time with it / time without - 1, round by round.
  MedianInterval ledger;

  double of_pool() const { return decode.median / pool.median; }
};

class DecodeBench {
 public:
  using Progress = std::function<void(int done, int all, const char* what)>;

  // Writes the model where it is missing (kIo when the disk is too small), and refuses what does
  // not fit into memory before it is taken.
  static Result<std::unique_ptr<DecodeBench>> create(const DecodeBenchOptions& options,
                                                     const Progress& progress);
  ~DecodeBench();
  Result<DecodeLine> run(const Progress& progress);
  const MachineState& machine() const { return engine_->machine(); }

 private:
  struct Window {
    double bytes_per_s = 0, tokens_per_s = 0, pool_share = 0, seconds = 0;
  };

  explicit DecodeBench(const DecodeBenchOptions& options) : options_(options) {}
  std::string model_path() const;
  Status make_model(const Progress& progress) const;
  Status load();
  Result<Window> decode_window(int prompt, bool with_ledger);

  DecodeBenchOptions options_;
  std::unique_ptr<StrataEngine> engine_;
  std::unique_ptr<Ledger> ledger_;
  std::string ledger_path_;
  std::unique_ptr<PoolBench> pool_;
};

}  // namespace rota
