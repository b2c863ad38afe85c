// The n-gram hash of the Engram tables.
#include "model/engram_hash.h"

namespace rota {

void engram_rows(const Config& config, int which, std::span<const int32_t> history, int64_t* out) {
  const size_t orders = static_cast<size_t>(config.engram_max_ngram - 1),
               heads = static_cast<size_t>(config.engram_heads);
  const size_t first = static_cast<size_t>(which) * orders * heads;
  const int64_t* multipliers =
      config.engram_multipliers.data() + static_cast<size_t>(which) * (orders + 1);
  const int32_t pad = config.engram_pad_id;
  uint64_t rolling = 0;
  for (size_t back = 0; back <= orders; ++back) {
    const int32_t id = back < history.size() ? history[history.size() - 1 - back] : pad;
    rolling ^= static_cast<uint64_t>(id) * static_cast<uint64_t>(multipliers[back]);
    if (back == 0) continue;
    for (size_t head = 0; head < heads; ++head) {
      const size_t column = (back - 1) * heads + head;
      const uint64_t prime = static_cast<uint64_t>(config.engram_primes[first + column]);
      out[column] = static_cast<int64_t>(rolling % prime) + config.engram_offsets[first + column];
    }
  }
}

}  // namespace rota
