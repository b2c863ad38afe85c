// The pool's promises: every task once, in claim order, a barrier, at any thread count and any
// number of tiny runs.
#include "base/thread_pool.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/topology.h"

namespace rota {
namespace {

ThreadPoolOptions with_threads(int threads, int spin_us = 50) {
  ThreadPoolOptions options;
  options.threads = threads;
  options.spin_us = spin_us;
  return options;
}

TEST_CASE("every task runs exactly once, whatever the thread count") {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(with_threads(threads));
    CHECK(pool.threads() == threads);
    for (const int tasks : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      pool.run(tasks, [&](int task) { runs[static_cast<size_t>(task)].fetch_add(1); });
      for (const auto& count : runs) CHECK(count.load() == 1);
    }
  }
}

// Thousands of tiny jobs whose closures die at once: a worker that claims a task of the next job,
// or touches a finished one, writes into the wrong vector (and the sanitizers see it).
TEST_CASE("late workers never cross into the next job") {
  for (const int threads : {2, 5}) {
    for (const int spin_us : {0, 50}) {
      ThreadPool pool(with_threads(threads, spin_us));
      const int jobs = spin_us == 0 ? 2000 : 10000;
      int wrong = 0;
      for (int job = 0; job < jobs; ++job) {
        const int tasks = 2 + job % 7;
        std::vector<int> stamp(static_cast<size_t>(tasks), -1);
        pool.run(tasks, [&stamp, job](int task) { stamp[static_cast<size_t>(task)] = job; });
        for (const int value : stamp) wrong += value != job;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("tasks are claimed in index order") {
  ThreadPool pool(with_threads(1));
  std::vector<int> order;
  pool.run(5, [&](int task) { order.push_back(task); });
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});

  ThreadPool wide(with_threads(3));
  std::atomic<int> started{0};
  std::atomic<int> out_of_order{0};
  wide.run(500, [&](int task) {
    // Of the tasks before this one at most 2 can be claimed by the other threads and not have come
    // this far.
    if (started.fetch_add(1) < task - 2) out_of_order.fetch_add(1);
  });
  CHECK(out_of_order.load() == 0);
}

TEST_CASE("sleeping workers wake up") {
  ThreadPool pool(with_threads(2, 0));
  std::set<std::thread::id> ids;
  for (int i = 0; i < 20 && ids.size() < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::vector<std::thread::id> ran(2);
    std::atomic<int> arrived{0};
    pool.run(2, [&](int task) {
      ran[static_cast<size_t>(task)] = std::this_thread::get_id();
      arrived.fetch_add(1);
      // Hold the first task until the second is claimed by somebody else, with a way out for a
      // stalled machine.
      const int64_t limit = now_ns() + 200'000'000;
      while (arrived.load() < 2 && now_ns() < limit) std::this_thread::yield();
    });
    ids.insert(ran.begin(), ran.end());
  }
  CHECK(ids.size() == 2);
}

int64_t cpu_ns(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Processor time, not elapsed time: it does not grow while another program has the core.
TEST_CASE("who waits sleeps, so that others have the core") {
  constexpr auto kWait = std::chrono::milliseconds(120);
  constexpr int64_t kFarLessThanThat = 40'000'000;
  ThreadPool pool(with_threads(3));
  const auto caller = std::this_thread::get_id();
  // The caller, while a worker is put aside in the middle of a task.
  int64_t least = INT64_MAX;
  for (int attempt = 0; attempt < 50 && least > kFarLessThanThat; ++attempt) {
    std::atomic<bool> held{false};
    const int64_t before = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    pool.run(2, [&](int) {
      if (std::this_thread::get_id() != caller) {
        held.store(true);
        std::this_thread::sleep_for(kWait);
        return;
      }
      const int64_t limit = now_ns() + 2'000'000;
      while (!held.load() && now_ns() < limit) std::this_thread::yield();
    });
    // A worker that came too late for a task held nobody up.
    if (held.load()) least = std::min(least, cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before);
  }
  CHECK(least <= kFarLessThanThat);
  // The workers, while there is no job.
  const int64_t before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  std::this_thread::sleep_for(kWait);
  CHECK(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - before <= kFarLessThanThat);
}

TEST_CASE("who expects a job is awake for it, and sleeps when none came") {
  constexpr int64_t kAwake = 4'000'000;
  ThreadPool pool(with_threads(2, 0));
  int64_t most = 0, after = 0;
  // Others may have the core for the time: it is tried again.
  for (int attempt = 0; attempt < 50 && most < kAwake; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const int64_t before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    pool.expect_run(30'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    most = std::max(most, cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - before);
    after = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  }
  CHECK(most >= kAwake);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  CHECK(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - after < kAwake);
  std::atomic<int> ran{0};
  pool.run(2, [&](int) { ran.fetch_add(1); });
  CHECK(ran.load() == 2);
}

// The caller waits for tasks, never for threads: one that has not woken yet holds nobody up.
TEST_CASE("a job does not wait for workers that claimed nothing") {
  ThreadPool pool(with_threads(2, 0));
  const auto caller = std::this_thread::get_id();
  int alone = 0;
  for (int job = 0; job < 200; ++job) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // the worker sleeps by now
    std::atomic<int> by_caller{0};
    pool.run(2, [&](int) { by_caller += std::this_thread::get_id() == caller; });
    alone += by_caller.load() == 2;
  }
  // Two empty tasks are over long before a sleeper runs.
  CHECK(alone > 0);
}

TEST_CASE("workers are named and pinned, the caller is left alone") {
  ThreadPoolOptions options = with_threads(2);
  options.name = "rota-test";
  cpu_set_t before;
  sched_getaffinity(0, sizeof(before), &before);
  ThreadPool pool(options);
  std::string name;
  int cpus = 0;
  const auto caller = std::this_thread::get_id();
  for (int i = 0; i < 200 && name.empty(); ++i) {
    std::atomic<int> arrived{0};
    pool.run(2, [&](int) {
      arrived.fetch_add(1);
      const int64_t limit = now_ns() + 50'000'000;
      while (arrived.load() < 2 && now_ns() < limit) std::this_thread::yield();
      if (std::this_thread::get_id() == caller) return;
      char text[16] = {};
      pthread_getname_np(pthread_self(), text, sizeof(text));
      cpu_set_t set;
      sched_getaffinity(0, sizeof(set), &set);
      name = text;
      cpus = CPU_COUNT(&set);
    });
  }
  CHECK(name == "rota-test-1");
  if (allowed_core_cpus().size() >= 2) CHECK(cpus == 1);
  cpu_set_t after;
  sched_getaffinity(0, sizeof(after), &after);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("busy time is summed and taken") {
  ThreadPool pool(with_threads(2));
  pool.run(2, [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); });
  const int64_t busy = pool.take_busy_ns();
  CHECK(busy >= 3'000'000);
  CHECK(pool.take_busy_ns() == 0);
}

TEST_CASE("the default size is what the machine lends") {
  ThreadPool pool(with_threads(0));
  CHECK(pool.threads() == usable_cores());
}

}  // namespace
}  // namespace rota
