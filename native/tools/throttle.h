// A known slowdown: runs a program and stops it for a moment after each stretch of running. For
// measurements that must find an effect of a size that is known before.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace rota {

struct ThrottleRule {
  int64_t run_ns = 0, stop_ns = 0;
};

// "20:1": milliseconds of running, then of standing still; fractions are allowed.
Result<ThrottleRule> parse_throttle(std::string_view text);

struct ThrottleReport {
  int64_t stops = 0;
  double running_s = 0, stopped_s = 0;  // as they really were, by the monotonic clock
  int exit_code = 0;                    // meaningless when exit_signal is not 0
  int exit_signal = 0;
};

// Starts argv (ends with a null pointer) with this process's pipes and waits for its end. SIGTERM,
// SIGINT and SIGHUP are passed on, to a program that runs: one that is stopped could not heed them.
// When this process is killed the program is killed too, for nobody would wake it.
Result<ThrottleReport> run_throttled(const ThrottleRule& rule, char* const argv[]);

}  // namespace rota
