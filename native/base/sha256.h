// SHA-256 (FIPS 180-4), for fingerprints. Knows nothing of what is hashed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rota {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  void update(const void* data, size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // After finish() the object starts a new message.
  Digest finish();

 private:
  void compress(const uint8_t* block);

  static constexpr std::array<uint32_t, 8> kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                                       0xa54ff53a, 0x510e527f, 0x9b05688c,
                                                       0x1f83d9ab, 0x5be0cd19};
  std::array<uint32_t, 8> state_ = kInitial;
  std::array<uint8_t, 64> pending_ = {};
  uint64_t bytes_ = 0;
};

std::string hex(const Sha256::Digest& digest);
std::string sha256_hex(const void* data, size_t bytes);

}  // namespace rota
