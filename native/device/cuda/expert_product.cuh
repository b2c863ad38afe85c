// Tiles of two strips of 16 weight rows times integer rows. A block of eight warps goes through its
// tiles; a warp takes every eighth piece of a tile's strips (up to 4352 bytes, whole chunks), and
// brings the next one to shared memory while it computes one. Each leaves its sums, and one adds
// them up a tile later, in the order of the pieces: until then it waits for no other warp.
#pragma once

#include "device/cuda/expert_blocks_k.cuh"

namespace rota {

constexpr int kWarps = 8, kStages = 2;
constexpr int kStageBytes = 4352;
constexpr int kRingBytes = kStages * kStageBytes;

// Shared memory of a block: the warps' rings, sums of `kDepth` tiles, and their gates: all warps
// have left theirs, they have been added up.
template <int kTiles>
struct SharedParts {
  static constexpr int kDepth = kTiles == 8 ? 2 : 4;
  static constexpr int kSums = 2 * 2 * kTiles * 16;  // floats of a warp: [strip][pair][row]
  static constexpr int kSumsAt = kWarps * kRingBytes;
  static constexpr int kGatesAt = kSumsAt + kDepth * kWarps * kSums * 4;
  static constexpr int kBytes = kGatesAt + 2 * kDepth * kGateBytes;
};

// Sixteen rows of a matrix.
struct Strip {
  const uint8_t* data;
  uint32_t bytes, piece_bytes;
};

__device__ __forceinline__ Strip strip(const uint8_t* blob, const ExpertCallMatrix& m, int number) {
  return {blob + m.offset + static_cast<size_t>(number) * m.strip_bytes, m.strip_bytes,
          m.piece_bytes};
}

// Starts bringing a piece to a stage of the ring.
__device__ __forceinline__ void bring_piece(const Strip& s, int piece, Shared stage, int lane) {
  const uint32_t begin = static_cast<uint32_t>(piece) * s.piece_bytes;
  const auto bytes = static_cast<int>(min(s.piece_bytes, s.bytes - begin));
  const uint8_t* from = s.data + begin + lane * 16;
  const Shared to = stage + static_cast<Shared>(lane * 16);
#pragma unroll
  for (int at = 0; at < kStageBytes; at += 512) {
    if (at + lane * 16 < bytes) bring(to + static_cast<Shared>(at), from + at);
  }
}

template <Format kFormat, int kTiles>
__device__ __forceinline__ void multiply_piece(uint32_t strip_bytes, int piece, Shared stage,
                                               int lane, const Columns<kTiles>& columns,
                                               Sums<kTiles>& sums) {
  using Block = ExpertBlock<kFormat>;
  constexpr uint32_t kBytes = Block::kPiece * Block::kBytes;
  const uint32_t bytes = min(kBytes, strip_bytes - static_cast<uint32_t>(piece) * kBytes);
  int chunk = piece * Block::kPiece;
#pragma unroll 1
  for (const Shared end = stage + bytes; stage < end; stage += Block::kBytes) {
    Sums<kTiles> of_chunk;
    Block::multiply(stage, lane, columns, chunk, of_chunk);
    add_chunk(sums, of_chunk, columns, chunk);
    ++chunk;
  }
}

template <int kTiles>
__device__ __forceinline__ void multiply_any(const ExpertCallMatrix& m, int piece, Shared stage,
                                             int lane, const Columns<kTiles>& columns,
                                             Sums<kTiles>& sums) {
  const uint32_t s = m.strip_bytes;
  switch (static_cast<Format>(m.format)) {
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
    default:
      return multiply_piece<Format::kMXFP4>(s, piece, stage, lane, columns, sums);
  }
}

// Bytes of a strip that are brought at a time.
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
    default:
      return of(ExpertBlock<Format::kMXFP4>());
  }
}

__device__ __forceinline__ float factor_of(const ExpertCallMatrix& m) {
  const auto format = static_cast<Format>(m.format);
  return format == Format::kMXFP4  ? ExpertBlock<Format::kMXFP4>::kFactor
         : format == Format::kQ2_0 ? ExpertBlock<Format::kQ2_0>::kFactor
         : format == Format::kQ3_K ? ExpertBlock<Format::kQ3_K>::kFactor
                                   : 1.f;
}

// The planes of a pair's sums, which two neighbouring lanes have, are put together.
template <int kTiles>
__device__ __forceinline__ void keep_sums(const Sums<kTiles>& sums, float factor, float* kept,
                                          int lane) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    float* pair = kept + (2 * n + lane % 4 / 2) * 16 + lane / 4;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float low = __shfl_down_sync(0xffffffffu, sums.c[n][row], 1);
      if (lane % 2 == 0) pair[8 * row] = fmaf(sums.c[n][row], 65536.f, low) * factor;
    }
  }
}

}  // namespace rota
