// What this CPU can execute, asked once. ROTA_CPU=portable hides every vector extension, for tests
// of the portable path.
#pragma once

namespace rota {

struct CpuFeatures {
  bool avx2 = false;  // AVX2 + FMA + F16C, and the system saves their registers
};

// Read once for the process, ROTA_CPU included.
const CpuFeatures& cpu_features();

namespace cpu_internal {
// The rule behind cpu_features(), for tests: the value of ROTA_CPU or nullptr.
CpuFeatures detect(const char* rota_cpu);
}  // namespace cpu_internal

}  // namespace rota
