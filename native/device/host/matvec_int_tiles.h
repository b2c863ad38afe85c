// The loops around a vector variant's chunk arithmetic: outputs, chunks, rows, the padded last
// chunk. Included by the variants alone: everything here is a template over their own (local)
// types, so that code compiled for one instruction set can never be linked into another's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rota {

// Bytes prefetched ahead in a stream of weights, past the end of a weight row into the next one.
// Every byte of a row has to be: a line left out is a wait for memory in every row, unless a
// prefetcher of the processor's own fills the gap.
inline constexpr size_t kAhead = 3072;
template <size_t kBytes>
inline void prefetch(const uint8_t* at) {
#pragma GCC unroll 8
  for (size_t i = 0; i < kBytes; i += 64) __builtin_prefetch(at + i);
}

// A variant F has
//   kBytes                          of a chunk of weights
//   kStreams                        outputs of a single row in flight: they share its activations
//   kOutputs                        outputs that share a loaded chunk of many rows
//   Chunk                           of the activations
//   Lanes<kN>                       float lanes of kN outputs, value-initialised to 0
//   reduce<kN>(Lanes, float*)       kN results
//   Weights, decode(bytes, Weights&)
//   apply<kN>(Weights*, Chunk, Lanes&)             kN outputs' decoded chunks times a row's
//   one<kN>(bytes, apart, Chunk, Lanes&)           both at once; output i's bytes at bytes + i *
//                                                  apart
//   whole<kN>(bytes, apart, chunks, Chunk*, Lanes&)  the same for consecutive chunks
template <class F>
struct MatvecIntTiles {
  using Chunk = typename F::Chunk;
  template <int kN>
  using Lanes = typename F::template Lanes<kN>;
  static constexpr int kRows = 16;  // rows that share a decoded chunk
  static constexpr size_t kChunk = Chunk::kPositions;

  static void run(const uint8_t* w, size_t row_bytes, size_t begin, size_t end, size_t k,
                  const void* const* x, int rows, float* const* y) {
    const size_t chunks = k / kChunk, left = row_bytes - chunks * F::kBytes;
    size_t o = begin;
    if (rows == 1) {
      // Stream i runs through the i-th part of the outputs, so that each is one stretch of memory.
      const Chunk* in = static_cast<const Chunk*>(x[0]);
      const size_t part = (end - begin) / F::kStreams;
      for (; o < begin + part; ++o)
        one_row<F::kStreams>(w + o * row_bytes, part * row_bytes, chunks, left, in, y[0] + o, part);
      for (o = begin + part * F::kStreams; o < end; ++o)
        one_row<1>(w + o * row_bytes, 0, chunks, left, in, y[0] + o, 0);
      return;
    }
    for (; o + F::kOutputs <= end; o += F::kOutputs)
      many_rows<F::kOutputs>(w + o * row_bytes, row_bytes, chunks, left, x, rows, y, o);
    for (; o < end; ++o) many_rows<1>(w + o * row_bytes, row_bytes, chunks, left, x, rows, y, o);
  }

 private:
  template <int kN>
  static void one_row(const uint8_t* w, size_t apart, size_t chunks, size_t left, const Chunk* x,
                      float* y, size_t y_apart) {
    Lanes<kN> acc = {};
    F::template whole<kN>(w, apart, chunks, x, acc);
    w += chunks * F::kBytes;
    if (left != 0) {
      uint8_t padded[kN][F::kBytes] = {};
      for (size_t i = 0; i < kN; ++i) {
        prefetch<F::kBytes>(w + i * apart + kAhead);
        std::memcpy(padded[i], w + i * apart, left);
      }
      F::template one<kN>(padded[0], F::kBytes, x[chunks], acc);
    }
    float results[kN];
    F::template reduce<kN>(acc, results);
    for (size_t i = 0; i < kN; ++i) y[i * y_apart] = results[i];
  }

  template <int kN>
  static void many_rows(const uint8_t* w, size_t row_bytes, size_t chunks, size_t left,
                        const void* const* x, int rows, float* const* y, size_t o) {
    for (int first = 0; first < rows; first += kRows) {
      const int count = rows - first < kRows ? rows - first : kRows;
      Lanes<kN> acc[kRows] = {};
      const uint8_t* at = w;
      for (size_t c = 0; c < chunks; ++c, at += F::kBytes) {
        // Where the next outputs' weights will be.
        for (size_t i = 0; i < kN; ++i) prefetch<F::kBytes>(at + (kN + i) * row_bytes);
        chunk_of_rows<kN>(at, row_bytes, x + first, c, count, acc);
      }
      if (left != 0) {
        uint8_t padded[kN][F::kBytes] = {};
        for (size_t i = 0; i < kN; ++i) std::memcpy(padded[i], at + i * row_bytes, left);
        chunk_of_rows<kN>(padded[0], F::kBytes, x + first, chunks, count, acc);
      }
      for (int r = 0; r < count; ++r) {
        F::template reduce<kN>(acc[r], y[first + r] + o);
      }
    }
  }

  template <int kN>
  static inline void chunk_of_rows(const uint8_t* w, size_t apart, const void* const* x, size_t c,
                                   int rows, Lanes<kN>* acc) {
    typename F::Weights weights[kN];
    for (size_t i = 0; i < kN; ++i) F::decode(w + i * apart, weights[i]);
    for (int r = 0; r < rows; ++r) {
      const Chunk& in = static_cast<const Chunk*>(x[r])[c];
      Lanes<kN> sums = acc[r];
      F::template apply<kN>(weights, in, sums);
      acc[r] = sums;
    }
  }
};

}  // namespace rota
