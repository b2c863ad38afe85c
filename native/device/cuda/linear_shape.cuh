// How a matrix-vector product is cut over warps. Follows from the matrix's shape alone, since the
// slices are part of the order of summation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rota {

struct LinearArgs {
  const uint8_t* w;  // [out, row_bytes]
  size_t row_bytes;
  int in, out;
  const float* x;       // [rows, x_stride]
  unsigned x_stride;    // of kMostRowsAtOnce rows in 32 bits
  int outputs_a_group;  // output o reads x of group o / outputs_a_group, `in` floats each
  int rows;
  float* y;  // [rows, out]
  int slices;
};

inline constexpr int kLinearWarps = 8;      // of a block
inline constexpr int kMostRowsAtOnce = 16;  // that share one reading of the weights

// Enough warps to hide the memory's latency behind one another, each with few stretches; measured
// on an H200. More slices than a block's warps there cannot be, nor than stretches.
inline int linear_slices(int in, int out) {
  constexpr int kEnoughOutputs = 8192, kFewStretches = 5;
  const int stretches = (in + 511) / 512;
  int slices = 1;
  while (slices < kLinearWarps && slices * 2 <= stretches &&
         (out * slices < kEnoughOutputs || stretches > slices * kFewStretches)) {
    slices *= 2;
  }
  return slices;
}

// The same of the tensor-core product, whose warps have kTensorOutputs outputs each and cut a row
// by its groups of 256.
inline constexpr int kTensorOutputs = 16;
inline int tensor_slices(int in, int out) {
  constexpr int kEnoughWarps = 1024;
  const int groups = in / 256, tiles = (out + kTensorOutputs - 1) / kTensorOutputs;
  int slices = 1;
  while (slices < kLinearWarps && slices * 2 <= groups && tiles * slices < kEnoughWarps) {
    slices *= 2;
  }
  return slices;
}

}  // namespace rota
