// Lines on stderr.
#include "bench/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace rota {
namespace {

constexpr int64_t kRefreshNs = 200'000'000;

}  // namespace

BenchProgress::BenchProgress(bool json_lines)
    : json_lines_(json_lines), terminal_(isatty(STDERR_FILENO) != 0), start_ns_(now_ns()) {}

BenchProgress::~BenchProgress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void BenchProgress::at(int done, int all, const std::string& what) {
  const int64_t now = now_ns();
  if ((!json_lines_ && !terminal_) || now - last_ns_ < kRefreshNs) return;
  last_ns_ = now;
  const double share = static_cast<double>(done) / std::max(1, all);
  const double left_s =
      done == 0 ? -1 : static_cast<double>(now - start_ns_) * 1e-9 * (1 / share - 1);
  if (json_lines_) {
    nlohmann::ordered_json line{
        {"event", "progress"}, {"done", done}, {"all", all}, {"what", what}};
    line["seconds_left"] = done == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(left_s);
    std::fprintf(stderr, "%s\n", line.dump().c_str());
    return;
  }
  shown_ = true;
  std::fprintf(stderr, "\r\033[K%s: %.0f %%", what.c_str(), share * 100);
  if (done > 0) std::fprintf(stderr, ", %.0f s left", left_s);
}

}  // namespace rota
