// The CPU pool: pinned workers plus the calling thread. Owns threads; knows nothing of experts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace rota {

struct ThreadPoolOptions {
  int threads = 0;  // all threads including the caller; 0 = usable_cores() of topology.h
  bool pin =
      true;  // one worker a core, from the second allowed core on; more workers than cores: none
  std::string name =
      "rota-pool";   // workers are named NAME-1, NAME-2, ... (the caller is 0); 15 characters count
  int spin_us = 50;  // spin this long for the next job, then sleep: other tenants need the core
};

// run() is a barrier: it returns when every task is done. Tasks are claimed one by one, in index
// order, by whichever thread is free; so a task must not depend on which thread runs it. Only one
// run() at a time. The caller is never pinned: threads that it starts later (file readers) would
// inherit that.
class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // fn(task) for task in [0, tasks). fn must not throw and must not call run().
  void run(int tasks, const std::function<void(int)>& fn);
  // Nanoseconds from the start of a run() to its end, summed since the last call of take_busy_ns.
  int64_t take_busy_ns();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota
