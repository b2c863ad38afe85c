// How far a benchmark is and how long it takes still, for people (a line on a terminal) and for
// programs (--progress: a JSON line). Owns the estimate and the line.
#pragma once

#include <cstdint>
#include <string>

namespace rota {

class BenchProgress {
 public:
  explicit BenchProgress(bool json_lines);
  ~BenchProgress();
  BenchProgress(const BenchProgress&) = delete;
  BenchProgress& operator=(const BenchProgress&) = delete;

  // done of all steps are over, `what` is next. Says nothing more often than five times a second.
  void at(int done, int all, const std::string& what);

 private:
  bool json_lines_, terminal_, shown_ = false;
  int64_t start_ns_, last_ns_ = 0;
};

}  // namespace rota
