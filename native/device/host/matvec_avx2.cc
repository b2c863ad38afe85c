// The AVX2 variant of the matrix kernel: weights are decoded eight at a time and fused into one
// accumulator a (output, row).
#include <immintrin.h>

#include <cstring>

#include "device/host/matvec_avx2_decoders.h"
#include "device/host/matvec_kernels.h"

namespace rota {
namespace {

using namespace avx2;

// kOutputs outputs by kRows rows, whole blocks first, then what is left of a row (float formats
// only) padded with zeros.
template <typename Decoder, int kOutputs, int kRows>
void tile(const uint8_t* w, size_t row_bytes, size_t k, const float* const* x, size_t o,
          float* const* y) {
  __m256 sums[kOutputs][kRows];
#pragma GCC unroll 8
  for (int c = 0; c < kOutputs * kRows; ++c) sums[c / kRows][c % kRows] = _mm256_setzero_ps();
  const size_t blocks = k / Decoder::kWeights;
  for (size_t b = 0; b < blocks; ++b) {
#pragma GCC unroll 4
    for (int c = 0; c < kOutputs; ++c) {
      Decoder::decode(w + static_cast<size_t>(c) * row_bytes + b * Decoder::kBytes,
                      [&](size_t j, __m256 weights) {
#pragma GCC unroll 8
                        for (int r = 0; r < kRows; ++r) {
                          const __m256 in = _mm256_loadu_ps(x[r] + b * Decoder::kWeights + 8 * j);
                          sums[c][r] = _mm256_fmadd_ps(weights, in, sums[c][r]);
                        }
                      });
    }
  }
  if constexpr (Decoder::kWeights == 8) {
    if (const size_t left = k % 8; left != 0) {
      constexpr size_t kWeightBytes = Decoder::kBytes / 8;
      for (int c = 0; c < kOutputs; ++c) {
        uint8_t tail[32] = {};
        std::memcpy(tail, w + static_cast<size_t>(c) * row_bytes + blocks * Decoder::kBytes,
                    left * kWeightBytes);
        Decoder::decode(tail, [&](size_t, __m256 weights) {
          for (int r = 0; r < kRows; ++r) {
            float in[8] = {};
            std::memcpy(in, x[r] + blocks * 8, left * sizeof(float));
            sums[c][r] = _mm256_fmadd_ps(weights, _mm256_loadu_ps(in), sums[c][r]);
          }
        });
      }
    }
  }
  for (int c = 0; c < kOutputs; ++c) {
    for (int r = 0; r < kRows; ++r) {
      float lanes[kLanes];
      _mm256_storeu_ps(lanes, sums[c][r]);
      y[r][o + static_cast<size_t>(c)] = reduce_lanes(lanes);
    }
  }
}

// Several outputs at once hide the latency of a single chain when few rows share a block.
constexpr int outputs_at_once(int rows) { return rows == 1 ? 4 : rows <= 4 ? 2 : 1; }

template <typename Decoder, int kRows>
void outputs(const uint8_t* w, size_t row_bytes, size_t begin, size_t end, size_t k,
             const float* const* x, float* const* y) {
  constexpr int kOutputs = outputs_at_once(kRows);
  size_t o = begin;
  for (; o + kOutputs <= end; o += kOutputs)
    tile<Decoder, kOutputs, kRows>(w + o * row_bytes, row_bytes, k, x, o, y);
  if constexpr (kOutputs > 1) {
    for (; o < end; ++o) tile<Decoder, 1, kRows>(w + o * row_bytes, row_bytes, k, x, o, y);
  }
}

template <typename Decoder>
void rows_of(const uint8_t* w, size_t begin, size_t end, size_t k, const float* const* x, int rows,
             float* const* y) {
  using Fn =
      void (*)(const uint8_t*, size_t, size_t, size_t, size_t, const float* const*, float* const*);
  static constexpr Fn kByRows[kRowTile] = {
      outputs<Decoder, 1>, outputs<Decoder, 2>, outputs<Decoder, 3>, outputs<Decoder, 4>,
      outputs<Decoder, 5>, outputs<Decoder, 6>, outputs<Decoder, 7>, outputs<Decoder, 8>};
  constexpr size_t kBand = 16;  // outputs that stay in L1 while further rows pass over them
  const size_t row_bytes = k / Decoder::kWeights * Decoder::kBytes +
                           k % Decoder::kWeights * (Decoder::kBytes / Decoder::kWeights);
  for (size_t o = begin; o < end; o += kBand) {
    const size_t stop = o + kBand < end ? o + kBand : end;
    for (int r = 0; r < rows; r += kRowTile) {
      const int count = rows - r < kRowTile ? rows - r : kRowTile;
      kByRows[count - 1](w, row_bytes, o, stop, k, x + r, y + r);
    }
  }
}

}  // namespace

void matvec_avx2(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                 const float* const* x, int rows, float* const* y) {
  const uint8_t* bytes = static_cast<const uint8_t*>(w);
  switch (f) {
    case Format::kF32:
      return rows_of<F32>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kF16:
      return rows_of<F16>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kBF16:
      return rows_of<BF16>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kQ8_0:
      return rows_of<Q8_0>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kQ2_0:
      return rows_of<Q2_0>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kQ2_K:
      return rows_of<Q2_K>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kMXFP8:
      return rows_of<Buffered<BlockMXFP8>>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kMXFP4:
      return rows_of<MXFP4>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kQ3_K:
      return rows_of<Q3_K>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kPTQ1_0:
      return rows_of<PTQ1_0>(bytes, out_begin, out_end, k, x, rows, y);
    case Format::kI32:
    case Format::kI64:
      return;  // never a matrix of weights: the loader refuses it
  }
}

}  // namespace rota
