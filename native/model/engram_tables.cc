// Derives the Engram hash constants. The multipliers come from numpy's default generator, so its
// seeding and its bounded integers are reproduced here bit by bit: SeedSequence, PCG64 (XSL-RR
// 128/64), Lemire's method.
#include "model/engram_tables.h"

#include <algorithm>
#include <array>
#include <limits>

namespace rota {
namespace {

__extension__ using U128 = unsigned __int128;

// numpy.random.SeedSequence of one small integer: a pool of four words, then generate_state.
class SeedSequence {
 public:
  explicit SeedSequence(uint32_t entropy) {
    for (size_t i = 0; i < pool_.size(); ++i) pool_[i] = hash_mix(i == 0 ? entropy : 0);
    for (size_t src = 0; src < pool_.size(); ++src) {
      for (size_t dst = 0; dst < pool_.size(); ++dst) {
        if (src != dst) pool_[dst] = mix(pool_[dst], hash_mix(pool_[src]));
      }
    }
  }

  std::array<uint64_t, 4> state() const {
    std::array<uint64_t, 4> out{};
    uint32_t hash = 0x8b51f9ddu;
    for (size_t i = 0; i < 8; ++i) {
      uint32_t value = pool_[i % pool_.size()] ^ hash;
      hash *= 0x58f38dedu;
      value *= hash;
      value ^= value >> 16;
      out[i / 2] |= uint64_t{value} << (32 * (i % 2));
    }
    return out;
  }

 private:
  uint32_t hash_mix(uint32_t value) {
    value ^= hash_;
    hash_ *= 0x931e8875u;
    value *= hash_;
    return value ^ (value >> 16);
  }
  static uint32_t mix(uint32_t x, uint32_t y) {
    const uint32_t value = 0xca01f9ddu * x - 0x4973f715u * y;
    return value ^ (value >> 16);
  }

  uint32_t hash_ = 0x43b0d7e5u;
  std::array<uint32_t, 4> pool_{};
};

class Pcg64 {
 public:
  explicit Pcg64(const std::array<uint64_t, 4>& seed)
      : increment_((((U128{seed[2]} << 64) | seed[3]) << 1) | 1) {
    step();
    state_ += (U128{seed[0]} << 64) | seed[1];
    step();
  }

  uint64_t next() {
    step();
    const uint64_t folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
    const unsigned turn = static_cast<unsigned>(state_ >> 122);
    return (folded >> turn) | (folded << ((64 - turn) & 63));
  }

  // Uniform in [0, bound); numpy takes this 64-bit path for bounds above 2^32.
  uint64_t below(uint64_t bound) {
    U128 product = U128{next()} * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = (0 - bound) % bound;
      while (static_cast<uint64_t>(product) < threshold) product = U128{next()} * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  void step() {
    state_ = state_ * ((U128{2549297995355413924u} << 64) | 4865540595714422341u) + increment_;
  }

  U128 state_ = 0;
  U128 increment_;
};

bool is_prime(int64_t n) {
  if (n < 2) return false;
  for (int64_t i = 2; i * i <= n; ++i) {
    if (n % i == 0) return false;
  }
  return true;
}

}  // namespace

EngramTables derive_engram_tables(const Config& config) {
  EngramTables tables;
  // Every order takes the next primes that none before it took, which are those behind the last.
  int64_t candidate = config.engram_start - 1;
  const uint64_t largest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const uint64_t vocab = static_cast<uint64_t>(std::max(1, config.engram_compressed_vocab));
  const uint64_t bound = std::max<uint64_t>(1, largest / vocab / 2);
  for (const int layer : config.engram_layers) {
    int64_t rows = 0;
    for (int order = 2; order <= config.engram_max_ngram; ++order) {
      for (int head = 0; head < config.engram_heads; ++head) {
        do ++candidate;
        while (!is_prime(candidate));
        tables.primes.push_back(candidate);
        tables.offsets.push_back(rows);
        rows += candidate;
      }
    }
    tables.rows.push_back(rows);
    Pcg64 random(SeedSequence(10007u * static_cast<uint32_t>(layer)).state());
    for (int i = 0; i < config.engram_max_ngram; ++i) {
      tables.multipliers.push_back(static_cast<int64_t>(random.below(bound) * 2 + 1));
    }
  }
  return tables;
}

}  // namespace rota
