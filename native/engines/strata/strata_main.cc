// rota-strata: parse, load, say ready, serve. Owns the exit code.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "base/cpu_features.h"
#include "base/utf8.h"
#include "engines/events.h"
#include "engines/refused_memory.h"
#include "engines/strata/options.h"
#include "engines/strata/ready.h"
#include "engines/strata/serve.h"

namespace {

int exit_code(rota::Code code) {
  switch (code) {
    case rota::Code::kOk:
    case rota::Code::kCancelled:
      return 0;
    case rota::Code::kUsage:
    case rota::Code::kBadRequest:
    case rota::Code::kUnsupported:
      return 2;
    case rota::Code::kLoad:
    case rota::Code::kIo:
      return 3;
    case rota::Code::kOutOfMemory:
      return 4;
  }
  return 1;
}

int fail(const rota::Status& status) {
  std::fprintf(stderr, "rota-strata: %s\n", rota::one_line(status.message()).c_str());
  return exit_code(status.code());
}

// Every tenth of a second and at both ends: a load of minutes is seen to move, one of milliseconds
// says little.
rota::EngineProgress progress_to(rota::Outbox& outbox, const rota::Inbox& inbox) {
  return [&outbox, &inbox, last = int64_t{0}](uint64_t bytes, uint64_t total) mutable {
    const int64_t now = rota::now_ns();
    if (bytes == 0 || bytes == total || now - last > 100'000'000) {
      outbox.send(rota::loading_event(bytes, total));
      last = now;
    }
    return !inbox.stopping();
  };
}

int run(int argc, char** argv) {
  const std::vector<const char*> arguments(argv + 1, argv + argc);
  if (const auto status = rota::check_cpu_request(); !status.ok()) return fail(status);
  const auto parsed =
      rota::parse_strata_options(arguments, [](const char* name) { return std::getenv(name); });
  if (!parsed.ok()) return fail(parsed.status());
  if (!parsed.value().text.empty()) {
    std::fputs(parsed.value().text.c_str(), stdout);
    return 0;
  }
  rota::Inbox::block_signals();
  rota::Outbox outbox(STDOUT_FILENO);
  rota::Inbox inbox(STDIN_FILENO, outbox);
  auto loaded = rota::StrataEngine::load(parsed.value().options, progress_to(outbox, inbox));
  if (!loaded.ok()) return inbox.exit_code() != 0 ? inbox.exit_code() : fail(loaded.status());
  rota::StrataEngine& engine = *loaded.value();
  for (const std::string& line : rota::ready_lines(engine)) {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  outbox.send(rota::ready_event(engine));
  const rota::Status served = rota::serve(engine, inbox, outbox);
  return served.ok() || inbox.exit_code() != 0 ? inbox.exit_code() : exit_code(served.code());
}

}  // namespace

int main(int argc, char** argv) {
  int code = 0;
  // A listening thread or the first bytes of the heap can be refused before anything is loaded.
  const rota::Status status = rota::catch_refusals([&] {
    code = run(argc, argv);
    return rota::Status();
  });
  return status.ok() ? code : fail(rota::explain_refusal(status, {}));
}
