// Faults for tests: a library to preload, which makes reads, writes, allocations, threads and the
// wall clock fail as ROTA_FAULTS says. Owns the interception; no product links it. malloc itself is
// left alone, so that it also runs under a sanitizer.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "faults/rules.h"

namespace rota_faults {
namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool path_of(int fd, char* out, size_t room) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, out, room - 1);
  if (n < 0) return false;
  out[n] = 0;
  return true;
}

// The first active rule of this kind for the file, or null.
Rule* rule_for(const char* kind, int fd) {
  char path[4096];
  bool known = false;
  for (Rule& rule : rules()) {
    if (!rule.is(kind) || !rule.active()) continue;
    if (!known && !path_of(fd, path, sizeof path)) return nullptr;
    known = true;
    if (std::strstr(path, rule.path) != nullptr) return &rule;
  }
  return nullptr;
}

// True, and errno set, when the call is to fail; else errno is as it was.
bool spoils(const char* kind, int fd) {
  const int saved = errno;
  Rule* rule = rule_for(kind, fd);
  errno = saved;
  if (rule == nullptr || rule->seen.fetch_add(1) < rule->skip || !rule->take()) return false;
  errno = EIO;
  return true;
}

bool spoil_read(int fd) {
  const int saved = errno;
  if (const Rule* slow = rule_for("slow", fd)) usleep(static_cast<useconds_t>(slow->ms) * 1000);
  errno = saved;
  return spoils("read", fd);
}

// How many of `bytes` may be written; -1 when the disk is full.
ssize_t room_for(int fd, size_t bytes) {
  const int saved = errno;
  Rule* rule = rule_for("write", fd);
  errno = saved;
  if (rule == nullptr || bytes == 0) return static_cast<ssize_t>(bytes);
  const long before = rule->seen.fetch_add(static_cast<long>(bytes));
  const long left = rule->room - before;
  if (left >= static_cast<long>(bytes)) return static_cast<ssize_t>(bytes);
  if (left > 0) return left;
  if (!rule->take()) return static_cast<ssize_t>(bytes);
  errno = ENOSPC;
  return -1;
}

bool refuse_memory(size_t bytes) {
  for (Rule& rule : rules()) {
    if (!rule.is("memory") || static_cast<long>(bytes) < rule.least || !rule.active()) continue;
    const long number = rule.seen.fetch_add(1) + 1;
    if ((rule.nth == 0 || number == rule.nth) && rule.take()) return true;
  }
  return false;
}

[[gnu::constructor]] void read_rules() { rules().read_environment(); }

long clock_step() {
  long step = 0;
  for (Rule& rule : rules()) {
    if (rule.is("clock") && rule.active()) step += rule.step;
  }
  return step;
}

}  // namespace
}  // namespace rota_faults

using rota_faults::next;

extern "C" {

ssize_t pread(int fd, void* out, size_t bytes, off_t offset) {
  if (rota_faults::spoil_read(fd)) return -1;
  static auto* const real = next<ssize_t(int, void*, size_t, off_t)>("pread");
  return real(fd, out, bytes, offset);
}
ssize_t pread64(int fd, void* out, size_t bytes, off_t offset) {
  return pread(fd, out, bytes, offset);
}

ssize_t read(int fd, void* out, size_t bytes) {
  if (rota_faults::spoil_read(fd)) return -1;
  static auto* const real = next<ssize_t(int, void*, size_t)>("read");
  return real(fd, out, bytes);
}

ssize_t write(int fd, const void* data, size_t bytes) {
  const ssize_t room = rota_faults::room_for(fd, bytes);
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  return room < 0 ? -1 : real(fd, data, static_cast<size_t>(room));
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  const ssize_t room = rota_faults::room_for(fd, bytes);
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return room < 0 ? -1 : real(fd, data, static_cast<size_t>(room), offset);
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off_t offset) {
  return pwrite(fd, data, bytes, offset);
}

// stdio and C++ streams write by writev; the first piece stands for all.
ssize_t writev(int fd, const struct iovec* pieces, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  const ssize_t room = rota_faults::room_for(fd, bytes);
  if (room < 0) return -1;
  static auto* const real = next<ssize_t(int, const struct iovec*, int)>("writev");
  if (static_cast<size_t>(room) == bytes) return real(fd, pieces, count);
  for (int i = 0; i < count; ++i) {
    if (pieces[i].iov_len == 0) continue;
    const auto part = static_cast<size_t>(room) < pieces[i].iov_len ? static_cast<size_t>(room)
                                                                    : pieces[i].iov_len;
    static auto* const one = next<ssize_t(int, const void*, size_t)>("write");
    return one(fd, pieces[i].iov_base, part);
  }
  return 0;
}

int fsync(int fd) {
  static auto* const real = next<int(int)>("fsync");
  return rota_faults::spoils("sync", fd) ? -1 : real(fd);
}
int fdatasync(int fd) {
  static auto* const real = next<int(int)>("fdatasync");
  return rota_faults::spoils("sync", fd) ? -1 : real(fd);
}

int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (rota_faults::refuse_memory(bytes)) return ENOMEM;
  static auto* const real = next<int(void**, size_t, size_t)>("posix_memalign");
  return real(out, alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  if (rota_faults::refuse_memory(bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  static auto* const real = next<void*(size_t, size_t)>("aligned_alloc");
  return real(alignment, bytes);
}

void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if ((flags & MAP_ANONYMOUS) != 0 && rota_faults::refuse_memory(bytes)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  static auto* const real = next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  return real(at, bytes, protection, flags, fd, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  for (rota_faults::Rule& rule : rota_faults::rules()) {
    if (!rule.is("thread") || !rule.active()) continue;
    if (rule.seen.fetch_add(1) + 1 == rule.nth) return EAGAIN;
  }
  static auto* const real =
      next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return real(thread, attributes, start, argument);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  static auto* const real = next<int(clockid_t, struct timespec*)>("clock_gettime");
  const int result = real(clock, out);
  if (result == 0 && clock == CLOCK_REALTIME) out->tv_sec += rota_faults::clock_step();
  return result;
}

int gettimeofday(struct timeval* out, void* zone) {
  static auto* const real = next<int(struct timeval*, void*)>("gettimeofday");
  const int result = real(out, zone);
  if (result == 0) out->tv_sec += rota_faults::clock_step();
  return result;
}

}  // extern "C"

void* operator new(size_t bytes) {
  if (rota_faults::refuse_memory(bytes)) throw std::bad_alloc();
  static auto* const real = next<void*(size_t)>("_Znwm");
  return real(bytes);
}
void* operator new[](size_t bytes) {
  if (rota_faults::refuse_memory(bytes)) throw std::bad_alloc();
  static auto* const real = next<void*(size_t)>("_Znam");
  return real(bytes);
}
