// The CPU pool: pinned workers plus the calling thread. Owns threads; knows nothing of experts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rota {

struct ThreadPoolOptions {
  int threads = 0;  // all threads including the caller; 0 = usable_cores() of topology.h
  bool pin = true;  // without `cpus`: one thread a core; more threads than cores: none
  // [threads] CPUs of each thread, 0 the caller; an empty list: any (thread_plan.h makes these).
  std::vector<std::vector<int>> cpus = {};
  std::string name =
      "rota-pool";   // workers are named NAME-1, NAME-2, ... (the caller is 0); 15 characters count
  int spin_us = 50;  // spin this long for the next job, then sleep: other tenants need the core
};

// run() is a barrier: it returns when every task is done. Tasks are claimed one by one, in index
// order, by whichever thread is free; so a task must not depend on which thread runs it. Only one
// run() at a time. The caller is pinned only when it asks for it: threads that it starts later
// would inherit that.
class ThreadPool {
 public:
  // Throws std::system_error when the system refuses a thread, with none left running.
  explicit ThreadPool(const ThreadPoolOptions& options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // fn(task) for task in [0, tasks). fn must not throw and must not call run().
  void run(int tasks, const std::function<void(int)>& fn);
  // A run() will come within this time: sleeping workers are woken and spin for it that long, so
  // that it does not begin with their waking. Costs a system call when some sleep.
  void expect_run(int within_us);
  // Nanoseconds from the start of a run() to its end, summed since the last call of take_busy_ns.
  int64_t take_busy_ns();

  // Puts the calling thread on the CPUs of thread 0; to be called by the thread that will call
  // run(), once it has started the threads that must be free. Does nothing where thread 0 may be
  // anywhere.
  void place_caller();
  // Puts it back to where it was before.
  void release_caller();
  // [threads] what the kernel says of each thread now; thread 0 is the one that asks.
  std::vector<std::vector<int>> placed_cpus() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota
