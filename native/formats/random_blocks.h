// Blocks of a format with seeded random bits and scales that a model could have: weights of a few
// hundredths, made at the speed of memory. For what is too large to draw weight by weight.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/block.h"

namespace rota {

// False for a format without a rule (the integers).
bool has_random_blocks(Format format);
// out[bytes] = whole blocks; the same bits for the same seed, whatever else is made. The format has
// a rule.
void random_blocks(Format format, uint64_t seed, uint8_t* out, size_t bytes);

// The same with weights of another size: their root mean square is within a factor of sqrt(2) of
// `rms`, because exponents alone are moved, as far as the format's scales reach.
class RandomBlocks {
 public:
  RandomBlocks(Format format, double rms);
  void fill(uint64_t seed, uint8_t* out, size_t bytes) const;

 private:
  Format format_;
  int shift_;
};

}  // namespace rota
