// The serving loop.
#include "engines/strata/serve.h"

#include <cstdio>
#include <functional>
#include <new>

#include "base/check.h"
#include "base/clock.h"
#include "engines/events.h"
#include "engines/human_lines.h"
#include "engines/strata/ready.h"

namespace rota {
namespace {

const char* code_name(Code code) {
  switch (code) {
    case Code::kBadRequest:
      return "bad_request";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kCancelled:
      return "cancelled";
    case Code::kOutOfMemory:
      return "out_of_memory";
    default:
      return "io";
  }
}

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

class Server {
 public:
  Server(StrataEngine& engine, Outbox& outbox) : engine_(engine), outbox_(outbox) {}

  // The event that answers the task. A refused allocation is the end of the request, not of the
  // engine: what a pass needs was taken at the load, so it can only be one of the request's own.
  std::string answer(const Task& task) {
    try {
      return act(task);
    } catch (const std::bad_alloc&) {
      return refuse(task.command.id, code_name(Code::kOutOfMemory),
                    "the system refused memory for this request: lower max_new or send a shorter "
                    "prompt");
    }
  }

  // What could not be written until now gets its last chance.
  Status finish() {
    const Status status = engine_.flush_ledger();
    if (!status.ok()) say("serve: " + status.message());
    return status;
  }

 private:
  std::string act(const Task& task) {
    const Command& command = task.command;
    switch (command.op) {
      case Op::kGenerate:
        return generate(task);
      case Op::kScore:
        return score(task);
      case Op::kStats:
        return stats_event(*command.id, totals_,
                           static_cast<double>(now_ns() - started_ns_) * 1e-6);
      case Op::kReset:
        return reset(*command.id);
      case Op::kRefused:
        return refuse(command.id, command.code, command.message);
      case Op::kCancel:
      case Op::kQuit:
        break;  // the inbox acts on them when they arrive
    }
    ROTA_CHECK(false, "a command that is no task");
    return {};
  }

  // Nothing is answered from files that changed: they are looked at before, and again before the
  // answer goes out.
  template <typename T>
  Result<T> on_same_weights(const std::function<Result<T>()>& compute) {
    ROTA_RETURN_IF_ERROR(engine_.check_weights());
    Result<T> result = compute();
    ROTA_RETURN_IF_ERROR(engine_.check_weights());
    return result;
  }

  // A request's own failure, or that of the books that end with it.
  Status finished(const Status& status) {
    const Status books = engine_.finish_request();
    return status.ok() ? books : status;
  }

  std::string refuse(const std::optional<int64_t>& id, const std::string& code,
                     const std::string& why) {
    say("serve: refused: " + why);
    return error_event(id, code, why);
  }

  std::string generate(const Task& task) {
    const GenerateRequest& request = task.command.generate;
    TokenSink sink;
    if (task.command.stream) {
      sink = [this, &request](std::span<const int> ids) {
        outbox_.send(tokens_event(request.id, ids));
      };
    }
    const auto result = on_same_weights<GenerateResult>([&] {
      return engine_.decoder().generate(request, task.arrived_ns, *task.cancelled, sink);
    });
    if (const Status status = finished(result.status()); !status.ok()) {
      return refuse(request.id, code_name(status.code()), status.message());
    }
    const GenerateResult& done = result.value();
    totals_.add(done);
    say(prompt_line(done));
    say(decode_line(done));
    if (engine_.depth() > 0) say(speculation_line(done));
    if (!done.ledger.ok()) say("serve: " + done.ledger.message());
    if (const std::string line = lossy_line(engine_.options()); !line.empty()) say(line);
    return done_event(request.id, done, lossy_knobs(engine_.options()), engine_.subject());
  }

  std::string score(const Task& task) {
    const ScoreRequest& request = task.command.score;
    const auto result = on_same_weights<ScoreResult>(
        [&] { return engine_.decoder().score(request, *task.cancelled); });
    if (const Status status = finished(result.status()); !status.ok()) {
      return refuse(request.id, code_name(status.code()), status.message());
    }
    return score_event(request.id, result.value());
  }

  std::string reset(int64_t id) {
    Status status = engine_.check_weights();
    if (status.ok()) status = engine_.reset();
    if (const Status files = engine_.check_weights(); !files.ok()) status = files;
    if (!status.ok()) return refuse(id, code_name(status.code()), status.message());
    return reset_event(id);
  }

  StrataEngine& engine_;
  Outbox& outbox_;
  ServeTotals totals_;
  int64_t started_ns_ = now_ns();
};

}  // namespace

Status serve(StrataEngine& engine, Inbox& inbox, Outbox& outbox) {
  Server server(engine, outbox);
  while (const auto task = inbox.next()) {
    const std::string event = server.answer(*task);
    inbox.finished();  // before the answer is out: whoever reads it may use the id again at once
    outbox.send(event);
  }
  return server.finish();
}

}  // namespace rota
