// CPUID through the compiler's builtins.
#include "base/cpu_features.h"

#include <cstdlib>
#include <string>
#include <string_view>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rota {
namespace cpu_internal {
#if defined(__x86_64__)
namespace {

// Not every compiler's builtin knows this name. Its registers are AVX's: where that is usable, it
// is.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace
#endif

CpuFeatures detect() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The builtin asks CPUID and XGETBV, so "supported" includes the operating system's part.
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni") &&
                    __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni");
#endif
  return features;
}

Result<CpuFeatures> choose(const CpuFeatures& has, const char* rota_cpu) {
  const std::string_view asked(rota_cpu == nullptr ? "auto" : rota_cpu);
  if (asked == "auto") return has;
  CpuFeatures chosen;
  if (asked == "portable") return chosen;
  chosen.avx2 = has.avx2;
  if (asked == "avx2" && has.avx2) return chosen;
  chosen.avx512 = has.avx512;
  if (asked == "avx512" && has.avx512) return chosen;
  if (asked == "avx2" || asked == "avx512") {
    return Status(Code::kUsage, "ROTA_CPU=" + std::string(asked) +
                                    ": this CPU has no such instructions; the best it has is " +
                                    has.name());
  }
  return Status(Code::kUsage,
                "ROTA_CPU='" + std::string(asked) + "': expected portable, avx2, avx512 or auto");
}

}  // namespace cpu_internal

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = [] {
    const CpuFeatures has = cpu_internal::detect();
    const auto chosen = cpu_internal::choose(has, std::getenv("ROTA_CPU"));
    return chosen.ok() ? chosen.value() : has;
  }();
  return features;
}

Status check_cpu_request() {
  const auto chosen = cpu_internal::choose(cpu_internal::detect(), std::getenv("ROTA_CPU"));
  return chosen.ok() ? Status() : chosen.status();
}

}  // namespace rota
