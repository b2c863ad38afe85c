// Cuts independent items over the threads of a pool, with scratch memory a task. Knows nothing of
// what an item is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"

namespace rota {

class TaskSplitter {
 public:
  // A null pool computes everything on the caller.
  explicit TaskSplitter(ThreadPool* pool)
      : pool_(pool), scratch_(static_cast<size_t>(pool ? pool->threads() : 1) * kTasksPerThread) {}

  // fn(task, begin, end) over [0, items); task indexes scratch. Every item is computed alone, so no
  // cut changes bits.
  template <typename Fn>
  void operator()(size_t items, size_t cost_per_item, Fn&& fn) {
    const size_t tasks = std::min(scratch_.size(), items * cost_per_item / kInlineCost);
    if (pool_ == nullptr || pool_->threads() == 1 || tasks <= 1)
      return fn(size_t{0}, size_t{0}, items);
    const auto task = [&](int t) {
      const size_t i = static_cast<size_t>(t);
      fn(i, items * i / tasks, items * (i + 1) / tasks);
    };
    // By reference: a std::function of a large lambda would allocate.
    pool_->run(static_cast<int>(tasks), std::ref(task));
  }

  // Sizes every task's scratch, so that none grows inside a task: an exception there would leave
  // other threads in it.
  Status reserve(size_t floats, size_t ints) {
    try {
      for (Scratch& scratch : scratch_) {
        grown(scratch.floats, floats);
        grown(scratch.ints, ints);
      }
      return {};
    } catch (const std::bad_alloc&) {
      const size_t bytes = scratch_.size() * (floats * sizeof(float) + ints * sizeof(int));
      return {Code::kOutOfMemory,
              "scratch of a row: cannot allocate " + std::to_string(bytes) + " bytes of memory"};
    }
  }

  // Grown to the largest size ever asked of a task, then kept.
  float* floats(size_t task, size_t n) { return grown(scratch_[task].floats, n); }
  int* ints(size_t task, size_t n) { return grown(scratch_[task].ints, n); }

 private:
  static constexpr size_t kTasksPerThread = 4;
  // Below this many element operations waking a thread costs more than it saves.
  static constexpr size_t kInlineCost = 32768;

  struct Scratch {
    std::vector<float> floats;
    std::vector<int> ints;
  };

  template <typename T>
  static T* grown(std::vector<T>& memory, size_t n) {
    if (memory.size() < n) memory.resize(n);
    return memory.data();
  }

  ThreadPool* pool_;
  std::vector<Scratch> scratch_;
};

}  // namespace rota
