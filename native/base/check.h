// ROTA_CHECK: our own mistakes end the process with the values that prove them. Never for what a
// file or user can cause.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace rota::check_internal {

template <typename... Parts>
[[noreturn]] void fail(const char* file, int line, const char* condition, const Parts&... parts) {
  std::ostringstream text;
  ((text << ' ' << parts), ...);
  std::fprintf(stderr, "%s:%d: check failed: %s:%s\n", file, line, condition, text.str().c_str());
  std::abort();
}

}  // namespace rota::check_internal

// ROTA_CHECK(n % 32 == 0, "row length", n);
#define ROTA_CHECK(condition, ...)                                                             \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      ::rota::check_internal::fail(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
