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

}  // namespace rota
