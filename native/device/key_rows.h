// How cached keys are held: a row of floats, or the model's own codes and scales. Owns the layout
// of a row; no arithmetic.
#pragma once

#include <cstdint>

#include "device/dev_ptr.h"
#include "formats/key_codes.h"

namespace rota {

// Rows [any, dim] of one format. Only a Device reads or writes them.
struct KeyRows {
  KeyFormat format = KeyFormat::kF32;
  int dim = 0;
  DevPtr<uint8_t> data;

  size_t row_bytes() const { return key_row_bytes(format, static_cast<size_t>(dim)); }
  uint8_t* row(size_t index) const { return data.address() + index * row_bytes(); }
  // Of kF32.
  const float* floats(size_t index) const {
    return static_cast<const float*>(static_cast<const void*>(row(index)));
  }
};

}  // namespace rota
