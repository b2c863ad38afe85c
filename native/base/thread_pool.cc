// The pool's claim word, its gates (spin, then futex) and its workers.
#include "base/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/topology.h"

namespace rota {
namespace {

using Word = std::atomic<uint32_t>;

void futex_wait(Word& word, uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr,
          0);
}

void futex_wake(Word& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
          nullptr, 0);
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// A word that threads wait on: spin for a while, then sleep in the kernel. The waker pays a system
// call only for sleepers. (Store of the word, then load of `sleepers`; sleeper: add to `sleepers`,
// then the kernel compares the word. Both sequentially consistent, so one of the two sees the
// other.)
struct Gate {
  alignas(64) Word word{0};
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<int64_t> expected_ns{0};  // until then nobody sleeps

  void open(uint32_t value, int wake_at_most) {
    word.store(value, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0) futex_wake(word, wake_at_most);
  }

  // Waiters spin until then; who sleeps already is woken to do so.
  void expect(int64_t until_ns) {
    expected_ns.store(until_ns, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0) futex_wake(word, INT_MAX);
  }

  // Returns the first value other than `seen`.
  uint32_t wait_beyond(uint32_t seen, int64_t spin_ns) {
    constexpr int kPausesPerClock = 32;
    int64_t deadline = now_ns() + spin_ns;
    for (;;) {
      do {
        for (int i = 0; i < kPausesPerClock; ++i) {
          const uint32_t value = word.load(std::memory_order_acquire);
          if (value != seen) return value;
          pause_cpu();
        }
        deadline = std::max(deadline, expected_ns.load(std::memory_order_acquire));
      } while (now_ns() < deadline);
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      // Who opens sees a sleeper from here on, or the kernel a new word. An expectation may still
      // be missed, which costs no more than the waking.
      if (expected_ns.load(std::memory_order_seq_cst) <= deadline) futex_wait(word, seen);
      sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
  }
};

constexpr uint64_t pack(uint32_t epoch, uint32_t left) { return (uint64_t{epoch} << 32) | left; }

}  // namespace

struct ThreadPool::Impl {
  // Epoch of the job and number of its unclaimed tasks in one word: a claim is a compare-exchange
  // of both, so a worker that is late by any time can never claim a task of the next job. Nothing
  // else decides whether a task is left.
  alignas(64) std::atomic<uint64_t> claim{0};
  std::atomic<const std::function<void(int)>*> fn{nullptr};
  std::atomic<uint32_t> tasks{0};
  alignas(64) std::atomic<uint32_t> finished{0};  // tasks of this job that are done
  Gate start;                                     // epoch of the last job
  Gate done;                                      // epoch of the last job that was completed
  std::atomic<bool> stop{false};
  std::atomic<bool> running{false};
  uint32_t epoch = 0;
  int64_t spin_ns = 0;
  int64_t busy_ns = 0;
  std::vector<std::thread> workers;
  std::vector<int> caller_cpus, caller_before;  // before: empty unless it was placed

  // Claims and runs tasks of `job` until none is left; the thread that finishes the last one opens
  // `done`.
  void work(uint32_t job) {
    uint32_t completed = 0;
    uint64_t seen = claim.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(seen >> 32) == job) {
      const auto left = static_cast<uint32_t>(seen);
      if (left == 0) break;
      if (!claim.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
        continue;
      }
      // From here until `finished` has this task, run() cannot return, so `fn` and `tasks` are this
      // job's.
      (*fn.load(std::memory_order_relaxed))(
          static_cast<int>(tasks.load(std::memory_order_relaxed) - left));
      ++completed;
      seen = claim.load(std::memory_order_acquire);
    }
    // A thread that claimed nothing must not touch `finished`: it may belong to the next job
    // already.
    if (completed == 0) return;
    const uint32_t total = tasks.load(std::memory_order_relaxed);
    if (finished.fetch_add(completed, std::memory_order_acq_rel) + completed == total) {
      done.open(job, INT_MAX);
    }
  }

  void end() {
    stop.store(true, std::memory_order_release);
    start.open(epoch + 1, INT_MAX);
    for (std::thread& worker : workers) worker.join();
  }

  void worker_loop() {
    uint32_t seen = 0;
    for (;;) {
      seen = start.wait_beyond(seen, spin_ns);
      if (stop.load(std::memory_order_acquire)) return;
      work(seen);
    }
  }
};

namespace {

// A refused pin costs speed, never results; placed_cpus() shows it.
void put_on(pthread_t thread, const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  (void)pthread_setaffinity_np(thread, sizeof(set), &set);
}

std::vector<int> cpus_of(pthread_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (pthread_getaffinity_np(thread, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<std::vector<int>> default_cpus(size_t threads, bool pin) {
  std::vector<std::vector<int>> cpus(threads);
  const std::vector<int> cores = allowed_core_cpus();
  if (!pin || threads > cores.size()) return cpus;
  for (size_t i = 0; i < threads; ++i) cpus[i] = {cores[i]};
  return cpus;
}

}  // namespace

ThreadPool::ThreadPool(const ThreadPoolOptions& options) : impl_(std::make_unique<Impl>()) {
  const int wanted = options.cpus.empty() ? options.threads : static_cast<int>(options.cpus.size());
  const auto threads = static_cast<size_t>(wanted > 0 ? wanted : usable_cores());
  impl_->spin_ns = int64_t{options.spin_us} * 1000;
  const auto cpus = options.cpus.empty() ? default_cpus(threads, options.pin) : options.cpus;
  impl_->caller_cpus = cpus.front();
  impl_->workers.reserve(threads - 1);
  for (size_t i = 1; i < threads; ++i) {
    try {
      impl_->workers.emplace_back([impl = impl_.get()] { impl->worker_loop(); });
    } catch (const std::system_error& error) {
      impl_->end();
      throw std::system_error(error.code(), "cannot start compute thread " + std::to_string(i) +
                                                " of " + std::to_string(threads));
    }
    constexpr size_t kKernelNameLength = 15;
    const pthread_t handle = impl_->workers.back().native_handle();
    const std::string name = options.name + "-" + std::to_string(i);
    pthread_setname_np(handle, name.substr(0, kKernelNameLength).c_str());
    put_on(handle, cpus[i]);
  }
}

void ThreadPool::expect_run(int within_us) {
  impl_->start.expect(now_ns() + int64_t{within_us} * 1000);
}

void ThreadPool::place_caller() {
  if (impl_->caller_cpus.empty() || !impl_->caller_before.empty()) return;
  impl_->caller_before = cpus_of(pthread_self());
  put_on(pthread_self(), impl_->caller_cpus);
}

void ThreadPool::release_caller() {
  put_on(pthread_self(), impl_->caller_before);
  impl_->caller_before.clear();
}

std::vector<std::vector<int>> ThreadPool::placed_cpus() const {
  std::vector<std::vector<int>> cpus = {cpus_of(pthread_self())};
  for (std::thread& worker : impl_->workers) cpus.push_back(cpus_of(worker.native_handle()));
  return cpus;
}

ThreadPool::~ThreadPool() { impl_->end(); }

int ThreadPool::threads() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::run(int tasks, const std::function<void(int)>& fn) {
  if (tasks <= 0) return;
  Impl& pool = *impl_;
  ROTA_CHECK(!pool.running.exchange(true, std::memory_order_acquire), "run() inside run()");
  const int64_t begin = now_ns();
  if (pool.workers.empty() || tasks == 1) {
    for (int task = 0; task < tasks; ++task) fn(task);
  } else {
    const uint32_t job = ++pool.epoch;
    pool.fn.store(&fn, std::memory_order_relaxed);
    pool.tasks.store(static_cast<uint32_t>(tasks), std::memory_order_relaxed);
    pool.finished.store(0, std::memory_order_relaxed);
    pool.claim.store(pack(job, static_cast<uint32_t>(tasks)), std::memory_order_release);
    pool.start.open(job, tasks - 1);
    pool.work(job);
    uint32_t seen = pool.done.word.load(std::memory_order_acquire);
    while (seen != job) seen = pool.done.wait_beyond(seen, pool.spin_ns);
  }
  pool.busy_ns += now_ns() - begin;
  pool.running.store(false, std::memory_order_release);
}

int64_t ThreadPool::take_busy_ns() { return std::exchange(impl_->busy_ns, 0); }

}  // namespace rota
