// A SIGBUS handler that puts pages of zeros where a file has none any more.
#include "base/lost_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/check.h"

namespace rota {
namespace {

// A model of hundreds of parts is far below this. A fixed array, because a handler may neither lock
// nor allocate.
constexpr size_t kMost = 4096;

struct Range {
  std::atomic<uintptr_t> begin{0};  // 0: free
  std::atomic<uintptr_t> end{0};
};

std::array<Range, kMost> ranges;
std::atomic<size_t> used{0};  // ranges[used ..] were never taken
std::atomic<int64_t> losses{0};
std::mutex taking;
uintptr_t page = 4096;  // set before the handler is

// The rest of the mapping is beyond the end of the file just as well; it is replaced at once, or a
// table of gigabytes would raise the signal for each of its pages.
bool replace_rest(uintptr_t address) {
  for (size_t i = 0; i < used.load(); ++i) {
    const uintptr_t begin = ranges[i].begin.load(), end = ranges[i].end.load();
    if (begin == 0 || address < begin || address >= end) continue;
    const uintptr_t first = address / page * page;
    losses.fetch_add(1);
    return mmap(reinterpret_cast<void*>(first), end - first, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
  }
  return false;
}

void on_bus_error(int, siginfo_t* info, void*) {
  if (replace_rest(reinterpret_cast<uintptr_t>(info->si_addr))) return;
  // Not ours: the next try ends the process as it would have without a handler.
  signal(SIGBUS, SIG_DFL);
}

void install() {
  page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ROTA_CHECK(sigaction(SIGBUS, &action, nullptr) == 0);
}

}  // namespace

void watch_mapping(const void* data, size_t bytes) {
  static std::once_flag once;
  std::call_once(once, install);
  const std::lock_guard lock(taking);
  size_t place = 0;
  while (place < used.load() && ranges[place].begin.load() != 0) ++place;
  // More mappings than places: theirs end the process as before, which no model comes near to.
  if (place == kMost) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  ranges[place].end = begin + bytes;
  ranges[place].begin = begin;
  if (place == used.load()) used = place + 1;
}

void forget_mapping(const void* data) {
  const std::lock_guard lock(taking);
  for (size_t i = 0; i < used.load(); ++i) {
    if (ranges[i].begin.load() == reinterpret_cast<uintptr_t>(data)) {
      ranges[i].begin = 0;
      return;
    }
  }
}

int64_t lost_page_reads() { return losses.load(); }

}  // namespace rota
