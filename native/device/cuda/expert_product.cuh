// Tiles of two stretches of 16 weight rows times split rows. A block of eight warps goes through
// its tiles; a warp takes every eighth piece of a tile's rows (up to 225 bytes of each), and brings
// the next one to shared memory, in aligned sixteens, while it computes one. It waits for no other
// warp: each leaves its sums, and the last to come adds them up, in the order of the pieces.
#pragma once

#include "device/cuda/expert_blocks_k.cuh"
#include "device/cuda/expert_call.cuh"

namespace rota {

constexpr int kWarps = 8, kStages = 2;
// Rows in shared memory are 68 words apart: the eight rows that a warp reads at once lie in other
// banks.
constexpr int kStageRow = 272, kStageBytes = 16 * kStageRow;
constexpr int kRingBytes = kStages * kStageBytes;

// Shared memory of a block: the warps' rings, sums of `kDepth` tiles, and how many warps have left
// theirs.
template <int kTiles>
struct SharedParts {
  static constexpr int kDepth = kTiles == 4 ? 1 : 2;
  static constexpr int kSums = 2 * 4 * kTiles * 16;  // floats of a warp: [stretch][pair][row]
  static constexpr int kSumsAt = kWarps * kRingBytes + 16;  // words behind the last row are read
  static constexpr int kCountersAt = kSumsAt + kDepth * kWarps * kSums * 4;
  static constexpr int kBytes = kCountersAt + 2 * kDepth * 4;
};

// Sixteen rows of a matrix.
struct Stretch {
  const uint8_t* rows;
  uint32_t row_bytes, piece_bytes;
  int pieces;
  Format format;
};

__device__ __forceinline__ Stretch stretch(const uint8_t* blob, const ExpertCallMatrix& m,
                                           int row) {
  return {blob + m.offset + static_cast<uint32_t>(row) * m.row_bytes, m.row_bytes, m.piece_bytes,
          m.pieces, static_cast<Format>(m.format)};
}

// Starts bringing a piece of all rows to a stage of the ring.
__device__ __forceinline__ void bring(const Stretch& s, int piece, Shared stage, int lane) {
  const auto begin = static_cast<uint32_t>(piece) * s.piece_bytes;
  const auto bytes = static_cast<int>(min(s.piece_bytes, s.row_bytes - begin));
  const int at = lane % 16 * 16;
  // Half a warp a row: its lines come whole, which four lanes a row do not give (Q8_0 0.61 of a
  // copy against 0.54). What is in front of the piece in its first sixteen comes with it.
  const uint8_t* from = s.rows + begin + static_cast<uint32_t>(lane / 16) * s.row_bytes + at;
  const Shared to = stage + static_cast<uint32_t>(lane / 16 * kStageRow + at);
  const auto sixteen = [](Shared shared, const uint8_t* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
  };
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(from);
    if (at < static_cast<int>(address & 15) + bytes) {
      sixteen(to + static_cast<uint32_t>(2 * i * kStageRow),
              reinterpret_cast<const uint8_t*>(address & ~uintptr_t{15}));
    }
    from += 2 * s.row_bytes;
  }
}

template <Format kFormat, int kTiles>
__device__ __forceinline__ void multiply_piece(const Stretch& s, int piece, Shared stage, int lane,
                                               const Columns<kTiles>& columns, Sums<kTiles>& sums) {
  using Block = ExpertBlock<kFormat>;
  const auto begin = static_cast<uint32_t>(piece) * s.piece_bytes;
  const uint32_t bytes = min(s.piece_bytes, s.row_bytes - begin);
  // Where a row's piece begins in its first sixteen; blobs are aligned.
  const uint32_t first = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(s.rows)) + begin;
  const auto row = static_cast<uint32_t>(lane / 4);
  Shared g = stage + row * kStageRow + ((first + row * s.row_bytes) & 15);
  const Shared h = stage + (row + 8) * kStageRow + ((first + (row + 8) * s.row_bytes) & 15);
  const uint32_t between = h - g;
  int group = piece * Block::kPiece * Block::kGroups;
  constexpr int kUnroll = Block::kGroups == 1 ? 2 : 1;
#pragma unroll kUnroll
  for (const Shared end = g + bytes; g < end; g += Block::kBytes) {
    Block::multiply(g, g + between, lane % 4, columns, group, sums);
    group += Block::kGroups;
  }
}

template <int kTiles>
__device__ __forceinline__ void multiply_any(const Stretch& s, int piece, Shared stage, int lane,
                                             const Columns<kTiles>& columns, Sums<kTiles>& sums) {
  switch (s.format) {
    case Format::kQ8_0:
      return multiply_piece<Format::kQ8_0>(s, piece, stage, lane, columns, sums);
    case Format::kQ2_0:
      return multiply_piece<Format::kQ2_0>(s, piece, stage, lane, columns, sums);
    case Format::kQ3_K:
      return multiply_piece<Format::kQ3_K>(s, piece, stage, lane, columns, sums);
    case Format::kQ2_K:
      return multiply_piece<Format::kQ2_K>(s, piece, stage, lane, columns, sums);
    case Format::kPTQ1_0:
      return multiply_piece<Format::kPTQ1_0>(s, piece, stage, lane, columns, sums);
    case Format::kF16:
      return multiply_piece<Format::kF16>(s, piece, stage, lane, columns, sums);
    default:
      return multiply_piece<Format::kMXFP4>(s, piece, stage, lane, columns, sums);
  }
}

// Bytes of a row that are brought at a time.
constexpr int piece_bytes(Format format) {
  const auto of = [](auto block) { return decltype(block)::kPiece * decltype(block)::kBytes; };
  switch (format) {
    case Format::kQ8_0:
      return of(ExpertBlock<Format::kQ8_0>());
    case Format::kQ2_0:
      return of(ExpertBlock<Format::kQ2_0>());
    case Format::kQ3_K:
      return of(ExpertBlock<Format::kQ3_K>());
    case Format::kQ2_K:
      return of(ExpertBlock<Format::kQ2_K>());
    case Format::kPTQ1_0:
      return of(ExpertBlock<Format::kPTQ1_0>());
    case Format::kF16:
      return of(ExpertBlock<Format::kF16>());
    default:
      return of(ExpertBlock<Format::kMXFP4>());
  }
}

__device__ __forceinline__ float factor_of(Format format) {
  return format == Format::kMXFP4    ? ExpertBlock<Format::kMXFP4>::kFactor
         : format == Format::kPTQ1_0 ? ExpertBlock<Format::kPTQ1_0>::kFactor
                                     : 1.f;
}

template <int kTiles>
__device__ __forceinline__ void keep_sums(const Sums<kTiles>& sums, float factor, float* kept,
                                          int lane) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    float* pair = kept + (4 * n + lane % 4) * 16 + lane / 4;
    pair[0] = fmaf(sums.c[n][1], kLoUnit, sums.c[n][0]) * factor;
    pair[8] = fmaf(sums.c[n][3], kLoUnit, sums.c[n][2]) * factor;
  }
}

}  // namespace rota
