// What this CPU can execute, asked once. ROTA_CPU=portable|avx2|avx512 hides what lies above.
#pragma once

#include "base/status.h"

namespace rota {

struct CpuFeatures {
  bool avx2 = false;    // AVX2 + FMA + F16C, and the system saves their registers
  bool avx512 = false;  // AVX-512 F, BW, VL, DQ, VNNI, VBMI and GFNI beside them

  const char* name() const { return avx512 ? "avx512" : avx2 ? "avx2" : "portable"; }
};

// Read once for the process, ROTA_CPU included; a value that check_cpu_request() refuses counts as
// auto.
const CpuFeatures& cpu_features();

// kUsage when ROTA_CPU is none of portable, avx2, avx512, auto, or asks for what the CPU lacks.
Status check_cpu_request();

namespace cpu_internal {
// The rules behind the two, for tests: what the CPU has, and the value of ROTA_CPU or nullptr.
CpuFeatures detect();
Result<CpuFeatures> choose(const CpuFeatures& has, const char* rota_cpu);
}  // namespace cpu_internal

}  // namespace rota
