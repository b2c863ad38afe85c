// Listening on a pipe: order, cancellation, and the ends of a conversation.
#include "engines/inbox.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"

namespace rota {
namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    ROTA_CHECK(pipe2(ends, O_CLOEXEC) == 0);
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  void write(const std::string& text) const {
    ROTA_CHECK(::write(write_end, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close_read() {
    if (read_end >= 0) ::close(read_end);
    read_end = -1;
  }
  void close_write() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
};

struct Ears {
  Pipe in, out;
  Outbox outbox{out.write_end};
  Inbox inbox;
  explicit Ears() : inbox((Inbox::block_signals(), in.read_end), outbox, 60000) {}
  Command next() {
    const auto task = inbox.next();
    REQUIRE(task.has_value());
    return task->command;
  }
};

std::string stats(int id) { return "{\"id\":" + std::to_string(id) + ",\"op\":\"stats\"}\n"; }

}  // namespace

TEST_CASE("lines come in order however the bytes are cut; empty lines are nothing") {
  Ears ears;
  const std::string text = stats(1) + "\n  \r\n" + stats(2) + "nonsense\n" + stats(3);
  for (const char c : text) ears.in.write(std::string(1, c));
  CHECK(ears.next().id == 1);
  ears.inbox.finished();
  CHECK(ears.next().id == 2);
  ears.inbox.finished();
  const Command bad = ears.next();
  CHECK(bad.op == Op::kRefused);
  CHECK(bad.code == "malformed");
  ears.inbox.finished();
  CHECK(ears.next().id == 3);
}

TEST_CASE("at the end of stdin what was asked is still given out, half a line is not") {
  Ears ears;
  ears.in.write(stats(1) + stats(2) + "{\"id\":3,\"op\":\"stats\"}");
  ears.in.close_write();
  CHECK(ears.next().id == 1);
  ears.inbox.finished();
  CHECK(ears.next().id == 2);
  ears.inbox.finished();
  CHECK(!ears.inbox.next().has_value());
  CHECK(!ears.inbox.stopping());
  CHECK(ears.inbox.exit_code() == 0);
}

TEST_CASE("cancel reaches the running and the waiting request by id") {
  Ears ears;
  ears.in.write(stats(1) + stats(2) + stats(3));
  const auto first = ears.inbox.next();
  ears.in.write(
      "{\"id\":1,\"op\":\"cancel\"}\n{\"id\":3,\"op\":\"cancel\"}\n{\"id\":9,\"op\":\"cancel\"}\n");
  while (!*first->cancelled) std::this_thread::yield();
  ears.inbox.finished();
  CHECK(!*ears.inbox.next()->cancelled);
  ears.inbox.finished();
  const auto third = ears.inbox.next();
  while (!*third->cancelled) std::this_thread::yield();
}

TEST_CASE("quit cancels everything and nothing comes after it") {
  Ears ears;
  ears.in.write(stats(1) + stats(2));
  const auto first = ears.inbox.next();
  ears.in.write("{\"op\":\"quit\"}\n" + stats(3));
  while (!*first->cancelled) std::this_thread::yield();
  CHECK(ears.inbox.stopping());
  ears.inbox.finished();
  CHECK(*ears.inbox.next()->cancelled);
  ears.inbox.finished();
  CHECK(!ears.inbox.next().has_value());
}

TEST_CASE("an id that is in flight is refused, and free again afterwards") {
  Ears ears;
  ears.in.write(stats(1) + stats(1));
  CHECK(ears.next().op == Op::kStats);
  const Command twice = [&] {
    // Waiting until the second line is in: only then is the first finished.
    const auto task = ears.inbox.next();
    return task->command;
  }();
  CHECK(twice.op == Op::kRefused);
  CHECK(twice.message == "id 1 belongs to a request that is not yet answered");
  ears.inbox.finished();
  ears.in.write(stats(1));
  CHECK(ears.next().op == Op::kStats);
}

TEST_CASE("when stdin has ended and nobody reads the answers, it stops by itself") {
  Ears ears;
  ears.in.write(stats(1));
  const auto task = ears.inbox.next();
  ears.in.close_write();
  CHECK(!ears.outbox.closed());
  ears.out.close_read();
  while (!*task->cancelled) std::this_thread::yield();
  CHECK(ears.outbox.closed());
  CHECK(!ears.inbox.next().has_value());
}

TEST_CASE("answers are whole lines") {
  Inbox::block_signals();  // writing to nobody must not kill
  Pipe pipe;
  Outbox outbox(pipe.write_end);
  outbox.send("one");
  outbox.send("two");
  char text[16] = {};
  CHECK(::read(pipe.read_end, text, sizeof text) == 8);
  CHECK(std::string(text) == "one\ntwo\n");
  CHECK(!outbox.closed());
  pipe.close_read();
  outbox.send("nobody");
  CHECK(outbox.closed());
}

}  // namespace rota
