// CPUID through the compiler's builtins.
#include "base/cpu_features.h"

#include <cstdlib>
#include <string_view>

namespace rota {
namespace cpu_internal {

CpuFeatures detect(const char* rota_cpu) {
  CpuFeatures features;
  if (rota_cpu != nullptr && std::string_view(rota_cpu) == "portable") return features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The builtin asks CPUID and XGETBV, so "supported" includes the operating system's part.
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("f16c");
#endif
  return features;
}

}  // namespace cpu_internal

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = cpu_internal::detect(std::getenv("ROTA_CPU"));
  return features;
}

}  // namespace rota
