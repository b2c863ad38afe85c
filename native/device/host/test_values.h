// Reproducible values for the kernels' tests. Not part of the library's doors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "device/key_rows.h"

namespace rota {

// n values in (-scale, scale), the same for the same seed.
inline std::vector<float> test_values(uint64_t seed, size_t n, double scale = 1.0) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = splitmix64_mix(splitmix64(seed) + (i + 1) * kGoldenGamma);
    out[i] = static_cast<float>(scale * (2 * unit_double(bits) - 1));
  }
  return out;
}

// Cached keys [v.size() / dim, dim] of floats; nobody writes through them.
inline KeyRows float_rows(const std::vector<float>& v, int dim) {
  const void* data = v.data();
  return {KeyFormat::kF32, dim, DevPtr<uint8_t>(static_cast<uint8_t*>(const_cast<void*>(data)))};
}

}  // namespace rota
