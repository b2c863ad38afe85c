// The loops around a vector variant's chunk arithmetic: outputs, chunks, rows, the padded last
// chunk. Included by the variants alone: everything here is a template over their own (local)
// types, so that code compiled for one instruction set can never be linked into another's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rota {

// A variant F has
//   kBytes                          of a chunk of 256 weights
//   Chunk                           of the activations
//   Lanes                           16 float lanes, value-initialised to 0; reduce(Lanes)
//   Weights, decode(bytes, Weights&), apply(Weights, Chunk, Lanes&)    a chunk for many rows
//   one(bytes, Chunk, Lanes&)       both at once for a single row, nothing stored between
template <class F>
struct MatvecIntTiles {
  using Chunk = typename F::Chunk;
  using Lanes = typename F::Lanes;
  static constexpr int kRows = 16;       // rows that share a decoded chunk
  static constexpr size_t kChunk = 256;  // kIntChunk
  // Bytes prefetched ahead, past the end of the weight row into the next one. So one output at a
  // time: the matrix is a single stream.
  static constexpr size_t kAhead = 3072;

  static void run(const uint8_t* w, size_t row_bytes, size_t begin, size_t end, size_t k,
                  const void* const* x, int rows, float* const* y) {
    const size_t chunks = k / kChunk, left = row_bytes - chunks * F::kBytes;
    if (rows == 1) {
      const Chunk* in = static_cast<const Chunk*>(x[0]);
      for (size_t o = begin; o < end; ++o) y[0][o] = one_row(w + o * row_bytes, chunks, left, in);
      return;
    }
    for (size_t o = begin; o < end; ++o) {
      for (int r = 0; r < rows; r += kRows) {
        const int count = rows - r < kRows ? rows - r : kRows;
        many_rows(w + o * row_bytes, chunks, left, x + r, count, y + r, o);
      }
    }
  }

 private:
  static inline void prefetch(const uint8_t* at) {
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kBytes; i += 64) __builtin_prefetch(at + kAhead + i);
  }

  static float one_row(const uint8_t* w, size_t chunks, size_t left, const Chunk* x) {
    Lanes acc = {};
    for (size_t c = 0; c < chunks; ++c, w += F::kBytes) {
      prefetch(w);
      F::one(w, x[c], acc);
    }
    if (left != 0) {
      uint8_t padded[F::kBytes] = {};
      std::memcpy(padded, w, left);
      F::one(padded, x[chunks], acc);
    }
    return F::reduce(acc);
  }

  static void many_rows(const uint8_t* w, size_t chunks, size_t left, const void* const* x,
                        int rows, float* const* y, size_t o) {
    Lanes acc[kRows] = {};
    typename F::Weights weights;
    const auto at = [&](int r) { return static_cast<const Chunk*>(x[r]); };
    for (size_t c = 0; c < chunks; ++c) {
      prefetch(w + c * F::kBytes);
      F::decode(w + c * F::kBytes, weights);
      for (int r = 0; r < rows; ++r) F::apply(weights, at(r)[c], acc[r]);
    }
    if (left != 0) {
      uint8_t padded[F::kBytes] = {};
      std::memcpy(padded, w + chunks * F::kBytes, left);
      F::decode(padded, weights);
      for (int r = 0; r < rows; ++r) F::apply(weights, at(r)[chunks], acc[r]);
    }
    for (int r = 0; r < rows; ++r) y[r][o] = F::reduce(acc[r]);
  }
};

}  // namespace rota
