// Rows of activations as the integer kernels read them: 16 bits a value, one scale a chunk of 256.
// Owns the layouts and the rounding; knows no weights' bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/block.h"

namespace rota {

// Values of a chunk that share a scale, and weights a kernel multiplies before it returns to float.
inline constexpr size_t kIntChunk = 256;
// A chunk's largest magnitude becomes this: its upper byte (of 256 * hi + lo, lo in -128..127) is
// then within +-127, and 16 bits hold every value.
inline constexpr int kIntLargest = 127 * 256;
// Integer lanes of a dot product; what a kernel of any width keeps apart.
inline constexpr size_t kIntLanes = 16;

// An order of values within a chunk, such that the codes of a format's bytes meet theirs without
// being moved. Position p of a split layout belongs to lane (p % 64) / 4, of pairs to (p % 32) / 2.
enum class RowLayout : uint8_t {
  kNone,      // the format has no integer kernel: its rows stay float
  kPairs,     // Q8_0: words; of every two blocks their first halves, then their second halves
  kQuarters,  // Q2_0: value 4i + s of a block in plane s, planes of four blocks side by side
  kSteps,     // Q3_K, Q2_K: both halves' weights of a step (two bits of a byte) side by side
  kTrits,     // PTQ1_0: of every four blocks sixteen values each
  kNibbles,   // MXFP4: of every four blocks their first halves, then their second halves
};
inline constexpr size_t kRowLayouts = 6;
RowLayout row_layout(Format f);

// A layout's chunk: kPositions values, of which each kIntChunk have a scale.
struct alignas(64) PairsChunk {
  static constexpr size_t kPositions = kIntChunk;
  int16_t x[kPositions];
  float scale;
};
struct alignas(64) QuartersChunk {
  static constexpr size_t kPositions = kIntChunk;
  int8_t hi[kPositions], lo[kPositions];
  // Minus the sum of each lane's values: codes count from 0, the smallest weight is -1 scale.
  int32_t offset[kIntLanes];
  float scale;
};
struct alignas(64) TritsChunk {
  static constexpr size_t kPositions = 2 * kIntChunk;
  int8_t hi[kPositions], lo[kPositions];
  int32_t offset[kIntLanes];  // as above
  float scale[kIntLanes];     // of a lane's values: lanes 0..7 have the first 256
};
struct alignas(64) NibblesChunk {
  static constexpr size_t kPositions = kIntChunk;
  int8_t hi[kPositions], lo[kPositions];
  int32_t offset[2][kIntLanes];  // -12 times the lanes' sums, of each four blocks
  float scale;
};
struct alignas(64) StepsChunk {
  static constexpr size_t kPositions = kIntChunk;
  int8_t hi[kPositions], lo[kPositions];
  // -4 times the sums of hi and of lo over 16 values, even sixteenths first: codes count from 0,
  // the smallest is -4 scales.
  int16_t hi_sums[16], lo_sums[16];
  // -124 times the sum of all: for scale * code, -124 to 128, as an unsigned byte.
  int32_t offset;
  float scale;
};

// Position -> value of the chunk, for all positions of the layout's chunk.
const int16_t* chunk_order(RowLayout layout);
size_t chunk_positions(RowLayout layout);

// Bytes of a quantised row of k values, a multiple of 64.
size_t quantised_row_bytes(RowLayout layout, size_t k);

// Writes the chunks that hold values [begin, end) of a row; begin is a multiple of 256, end is k or
// one too. `row` is aligned to 64. A value becomes round(x * 32512 / amax) of its chunk, ties to
// even; what lies behind k is 0, to the end of the layout's chunk. A chunk that holds a NaN or an
// infinity has that for its scale, so that every output it meets is NaN or infinite; one whose
// largest magnitude is below 1e-30 is 0.
void quantise_row(RowLayout layout, const float* x, size_t k, size_t begin, size_t end, void* row);
// The same without the CPU's vector instructions, for tests.
void quantise_row_portable(RowLayout layout, const float* x, size_t k, size_t begin, size_t end,
                           void* row);

// Parts of the AVX-512 variant, for whole chunks: the largest magnitude's bits, and rounding by a
// factor into chunk c of a row.
uint32_t chunk_magnitude_avx512(const float* x);
void round_chunk_avx512(RowLayout layout, const float* x, float factor, float scale, size_t c,
                        void* row);

}  // namespace rota
