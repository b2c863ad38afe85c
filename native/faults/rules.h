// What a test asks to go wrong, parsed from ROTA_FAULTS. Owns the rules and their counts;
// intercepts nothing.
//
//   ROTA_FAULTS="KIND,key=value,...;KIND,..."
//
//   read, path=TEXT: reads of files whose path contains TEXT fail; skip=N lets N of them pass first
//   slow, path=TEXT, ms=N: such reads wait
//   write, path=TEXT, room=N: the file takes N bytes and then no more (ENOSPC)
//   sync, path=TEXT: what was written cannot be brought to the disk (EIO); skip=N as above
//   memory, least=BYTES, nth=N: the N-th allocation of at least BYTES is refused (counted from 1);
//   nth=0 refuses all
//   thread, nth=N: the N-th thread cannot be started
//   clock, step=SECONDS: the wall clock stands SECONDS further (negative: it stepped back)
//   every kind: when=FILE only while FILE exists; times=M at most M times
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace rota_faults {

struct Rule {
  char kind[8] = {};
  char path[512] = {}, when[512] = {};
  long skip = 0, times = -1, ms = 0, room = 0, least = 0, nth = 0, step = 0;
  std::atomic<long> seen{0}, used{0};

  bool is(const char* name) const { return std::strcmp(kind, name) == 0; }
  bool active() const { return when[0] == 0 || access(when, F_OK) == 0; }
  // Counts a use; false when `times` of them have happened.
  bool take() { return times < 0 || used.fetch_add(1) < times; }
};

// No allocation: this runs inside the allocator.
class Rules {
 public:
  // Once, before there are threads and when the environment is there: the runtime of a sanitizer
  // allocates before it is.
  void read_environment() {
    const char* text = std::getenv("ROTA_FAULTS");
    while (text != nullptr && *text != 0 && count_ < kMost) {
      const char* end = strchrnul(text, ';');
      parse(text, end, rules_[count_++]);
      text = *end == ';' ? end + 1 : end;
    }
  }
  Rule* begin() { return rules_; }
  Rule* end() { return rules_ + count_; }

 private:
  static constexpr int kMost = 8;

  static void copy(const char* from, const char* end, char* out, size_t room) {
    const auto length =
        static_cast<size_t>(end - from) < room - 1 ? static_cast<size_t>(end - from) : room - 1;
    std::memcpy(out, from, length);
    out[length] = 0;
  }

  static void parse(const char* at, const char* end, Rule& rule) {
    const auto word_end = [end](const char* from) {
      const char* comma = strchrnul(from, ',');
      return comma < end ? comma : end;
    };
    const char* stop = word_end(at);
    copy(at, stop, rule.kind, sizeof rule.kind);
    while (stop < end) {
      at = stop + 1;
      stop = word_end(at);
      const char* equals =
          static_cast<const char*>(std::memchr(at, '=', static_cast<size_t>(stop - at)));
      if (equals != nullptr) set(rule, at, equals, stop);
    }
  }

  static void set(Rule& rule, const char* key, const char* equals, const char* end) {
    const auto named = [key, equals](const char* name) {
      const auto length = static_cast<size_t>(equals - key);
      return std::strlen(name) == length && std::memcmp(key, name, length) == 0;
    };
    if (named("path")) return copy(equals + 1, end, rule.path, sizeof rule.path);
    if (named("when")) return copy(equals + 1, end, rule.when, sizeof rule.when);
    const long number = std::strtol(equals + 1, nullptr, 10);
    if (named("skip")) rule.skip = number;
    if (named("times")) rule.times = number;
    if (named("ms")) rule.ms = number;
    if (named("room")) rule.room = number;
    if (named("least")) rule.least = number;
    if (named("nth")) rule.nth = number;
    if (named("step")) rule.step = number;
  }

  Rule rules_[kMost];
  int count_ = 0;
};

inline Rules& rules() {
  static constinit Rules all;
  return all;
}

}  // namespace rota_faults
