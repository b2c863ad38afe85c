// rota-throttle: a program with a known slowdown. Only parses, runs and prints; ends as the program
// did.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <string_view>

#include "tools/throttle.h"

namespace {

constexpr char kUsage[] =
    "rota-throttle RUN:STOP -- COMMAND...: stops the command for STOP milliseconds after each RUN "
    "of running\n"
    "\nExample:\n  rota-throttle 20:1 -- rota-strata --model m.gguf\n";

int refuse(const rota::Status& status) {
  std::fprintf(stderr, "rota-throttle: %s\n", status.message().c_str());
  return status.code() == rota::Code::kUsage ? 2 : 3;
}

// As a shell would see it. No core file of its own: the program has written one where it may.
int end_by(int signal) {
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  std::raise(signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  return 128 + signal;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout) < 0;
  if (argc < 4 || std::string_view(argv[2]) != "--")
    return refuse(
        {rota::Code::kUsage, "expected RUN:STOP -- COMMAND...; see rota-throttle --help"});
  auto rule = rota::parse_throttle(argv[1]);
  if (!rule.ok()) return refuse(rule.status());
  auto report = rota::run_throttled(*rule, argv + 3);
  if (!report.ok()) return refuse(report.status());
  const double total = report->running_s + report->stopped_s;
  std::fprintf(stderr, "throttle: stopped %lld times, %.4f of %.3f s: ran %.4f of the time\n",
               static_cast<long long>(report->stops), report->stopped_s, total,
               total > 0 ? report->running_s / total : 1);
  return report->exit_signal != 0 ? end_by(report->exit_signal) : report->exit_code;
}
