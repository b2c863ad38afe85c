// Counter-based random bits: FNV-1a of names and the SplitMix64 finaliser. Stateless, so any value
// can be made alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace rota {

inline constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15u;

constexpr uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64 bits.
constexpr uint64_t splitmix64_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The first output of a SplitMix64 generator seeded with `seed`.
constexpr uint64_t splitmix64(uint64_t seed) { return splitmix64_mix(seed + kGoldenGamma); }

// Top 53 bits as a double in [0, 1).
constexpr double unit_double(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace rota
