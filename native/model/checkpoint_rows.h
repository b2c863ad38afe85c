// Rows of a checkpoint's matrix as blocks of our formats: scales before their codes, nibbles in the
// order of MXFP4. Private to checkpoint.cc.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "model/checkpoint.h"

namespace rota {

Status read_checkpoint_rows(const CheckpointMatrix& matrix, uint64_t first, uint64_t count,
                            uint8_t* out);

namespace checkpoint_internal {
// 32 fp4 codes: 16 bytes whose byte k holds weights 2k (low) and 2k + 1 -> 16 bytes whose byte j
// holds weights j (low) and j + 16.
void reorder_nibbles(const uint8_t* in, uint8_t* out);
}  // namespace checkpoint_internal

}  // namespace rota
