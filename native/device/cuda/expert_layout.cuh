// The order in which the GPU keeps an expert's matrices: strips of 16 rows, in them chunks of 256
// weights, in a chunk what a warp reads at once side by side. As many bytes as before, each strip
// where its rows were. Owns that order and the kernel that makes it.
//
// A matrix is laid out when its format is one that the tensor cores' kernels take and its rows are
// whole chunks; every other one stays as it is, and is multiplied weight by weight.
#pragma once

#include <cuda_runtime_api.h>

#include "device/cuda/expert_call.cuh"

namespace rota {

// A matrix in a blob, on the device.
struct BlobMatrix {
  Format format = Format::kF32;
  uint8_t* data = nullptr;
  int out = 0, in = 0;
};

bool is_laid_out(Format format, int out, int in);

// In place: from the order of formats/README.md, or back to it. Matrices that are not laid out are
// left alone.
cudaError_t lay_out(cudaStream_t stream, const BlobMatrix& matrix);
cudaError_t take_out(cudaStream_t stream, const BlobMatrix& matrix);

// Of byte `at` of a chunk, where it comes from: a row of the strip, and a byte of that row's 256
// weights. Bytes below kTurned belong to words of codes, whose fields are turned afterwards
// (turned_word).
struct ChunkByte {
  int row, byte;
};

// Rows of a lane are g = lane / 4 and g + 8; its lane of four is t. Words come as [row], halves of
// `rows`: word r of a vector is row g + 8 * (r % 2) of part r / 2.
template <Format kFormat>
struct ChunkOrder;

template <>
struct ChunkOrder<Format::kQ8_0> {
  static constexpr int kRowBytes = 272, kTurned = 0;
  // [block][lane]: codes 4t .. of both rows, then 16 + 4t ..; [g][row]: eight scales.
  __host__ __device__ static ChunkByte from(int at) {
    if (at < 4096) {
      const int lane = at / 16 % 32, r = at / 4 % 4;
      return {lane / 4 + 8 * (r % 2), at / 512 * 34 + 2 + r / 2 * 16 + lane % 4 * 4 + at % 4};
    }
    const int s = at - 4096;
    return {s / 32 + 8 * (s / 16 % 2), s % 16 / 2 * 34 + s % 2};
  }
};

template <>
struct ChunkOrder<Format::kMXFP4> {
  static constexpr int kRowBytes = 136, kTurned = 2048;
  // [two blocks][lane]: codes 4t .. and 16 + 4t .. of both rows, of either block; [g][row]: eight
  // scales. Bytes of a word are 0, 2, 1, 3: turned, its first four nibbles are weights 4t .. 4t
  // + 3.
  __host__ __device__ static ChunkByte from(int at) {
    if (at < 2048) {
      const int lane = at / 16 % 32, r = at / 4 % 4, i = at % 4;
      return {lane / 4 + 8 * (r % 2),
              (at / 512 * 2 + r / 2) * 17 + 1 + lane % 4 * 4 + (i % 2 * 2 + i / 2)};
    }
    const int s = at - 2048;
    return {s / 16 + 8 * (s / 8 % 2), s % 8 * 17};
  }
};

template <>
struct ChunkOrder<Format::kQ2_0> {
  static constexpr int kRowBytes = 72, kTurned = 1024;
  // [two blocks][lane]: bytes t, 4 + t, 8 + t, 12 + t of both rows, of either block: turned, field
  // s of a word has weights 16s + 4t ..; [g][row]: four scales.
  __host__ __device__ static ChunkByte from(int at) {
    if (at < 1024) {
      const int lane = at / 16 % 32, r = at / 4 % 4;
      return {lane / 4 + 8 * (r % 2), (at / 512 * 2 + r / 2) * 18 + 2 + at % 4 * 4 + lane % 4};
    }
    const int s = at - 1024;
    return {s / 16 + 8 * (s / 8 % 2), s % 8 / 2 * 18 + s % 2};
  }
};

template <>
struct ChunkOrder<Format::kPTQ1_0> {
  static constexpr int kRowBytes = 56, kTurned = 0;
  // [lane]: bytes 4t .. of qs of both rows, of either block; [lane]: bytes 16 + 2t .. likewise;
  // [g]: qh and the scale likewise.
  __host__ __device__ static ChunkByte from(int at) {
    if (at < 512) {
      const int lane = at / 16, r = at / 4 % 4;
      return {lane / 4 + 8 * (r % 2), r / 2 * 28 + lane % 4 * 4 + at % 4};
    }
    if (at < 768) {
      const int lane = (at - 512) / 8, r = at / 2 % 4;
      return {lane / 4 + 8 * (r % 2), r / 2 * 28 + 16 + lane % 4 * 2 + at % 2};
    }
    const int r = at / 4 % 4;
    return {(at - 768) / 16 + 8 * (r % 2), r / 2 * 28 + 24 + at % 4};
  }
};

template <>
struct ChunkOrder<Format::kQ3_K> {
  static constexpr int kRowBytes = 110, kTurned = 0;
  // [lane]: bytes 4t .. and 16 + 4t .. of hmask, of either half of qs; [g]: by sub-blocks' parity
  // the scales' low bits, their top bits; both rows' d.
  __host__ __device__ static ChunkByte from(int at) {
    if (at < 1536) {
      const int lane = at / 16 % 32, r = at / 4 % 4;
      return {lane / 4 + 8 * (r % 2), at / 512 * 32 + r / 2 * 16 + lane % 4 * 4 + at % 4};
    }
    if (at < 1664) {
      const int r = at / 4 % 4;
      return {(at - 1536) / 16 + 8 * (r % 2), 96 + at % 4 * 2 + r / 2};
    }
    if (at < 1728) {
      const int r = at / 2 % 4;
      return {(at - 1664) / 8 + 8 * (r % 2), 104 + at % 2 * 2 + r / 2};
    }
    return {(at - 1728) / 4 + 8 * (at / 2 % 2), 108 + at % 2};
  }
};

template <>
struct ChunkOrder<Format::kQ2_K> {
  static constexpr int kRowBytes = 84, kTurned = 0;
  // [half][lane]: bytes 4t .. and 16 + 4t .. of qs of both rows; [g][row]: scales; d and dmin.
  __host__ __device__ static ChunkByte from(int at) {
    if (at < 1024) {
      const int lane = at / 16 % 32, r = at / 4 % 4;
      return {lane / 4 + 8 * (r % 2), 16 + at / 512 * 32 + r / 2 * 16 + lane % 4 * 4 + at % 4};
    }
    if (at < 1280) return {(at - 1024) / 32 + 8 * (at / 16 % 2), at % 16};
    return {(at - 1280) / 8 + 8 * (at / 4 % 2), 80 + at % 4};
  }
};

// Calls fn with the ChunkOrder of a format that has one; false: it has none.
template <typename Fn>
__host__ bool with_order(Format format, const Fn& fn) {
  switch (format) {
    case Format::kQ8_0:
      return fn(ChunkOrder<Format::kQ8_0>()), true;
    case Format::kMXFP4:
      return fn(ChunkOrder<Format::kMXFP4>()), true;
    case Format::kQ2_0:
      return fn(ChunkOrder<Format::kQ2_0>()), true;
    case Format::kPTQ1_0:
      return fn(ChunkOrder<Format::kPTQ1_0>()), true;
    case Format::kQ3_K:
      return fn(ChunkOrder<Format::kQ3_K>()), true;
    case Format::kQ2_K:
      return fn(ChunkOrder<Format::kQ2_K>()), true;
    default:
      return false;
  }
}

// A word's fields turned, its own inverse. Q2_0: field s of byte i against field i of byte s.
// MXFP4: the bits of a nibble's number backwards.
template <Format kFormat>
__host__ __device__ constexpr uint32_t turned_word(uint32_t w) {
  const auto swap = [&w](uint32_t mask, int distance) {
    const uint32_t other = (w ^ (w >> distance)) & mask;
    w ^= other | (other << distance);
  };
  if (kFormat == Format::kQ2_0) swap(0x00cc00cc, 6);
  swap(0x0000f0f0, 12);
  return w;
}

}  // namespace rota
