// What the expert kernels are told of a layer call: which blobs, who wants them, where the
// activations lie. Owns the layout of these arguments and of integer rows; computes nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "formats/block.h"

namespace rota {

// Matrices and activations are cut into CHUNKS of 256 values of a row.
constexpr int kChunk = 256;

// An INTEGER ROW is a row of floats as integers with a scale a chunk, for tensor cores that
// multiply bytes:
//   v = n * unscale,  n to nearest, the chunk's largest |n| in [2^27, 2^28)
//   n = ((p0 * 256 + p1) * 256 + p2) * 256 + p3,  signed bytes: its PLANES
// Of a chunk there are 64 uint4, [q][plane][t], each of four words of four neighbouring values:
// weights 64q + {0, 16, 32, 48} + 4t and up, what lane t of four multiplies.
//
// DIGIT ROWS are for PTQ1_0, whose digits are read as prefixes (expert_blocks.cuh): the words hold
// other integers, a - 3 a', in the order of its bytes, and two uint4 follow, the planes of the sum
// of either half of the chunk, negative.
constexpr int kPlanes = 4;
constexpr int kChunkVectors = 64, kDigitVectors = 66;

// Of one launch: kernel parameters, 4 KiB at most.
constexpr int kCallJobs = 32, kCallPairs = 256;
constexpr int kJobPairs = 16;  // of one job: a tile of 8 columns has 2 pairs, there are 8 tiles

// A matrix of a job: strips of 16 rows in expert_layout.cuh's order, of which a piece is brought to
// shared memory at a time.
struct ExpertCallMatrix {
  uint32_t offset;  // in the blob
  uint32_t strip_bytes;
  uint16_t piece_bytes;
  uint8_t pieces;
  uint8_t format;  // Format, all below 256
};

struct ExpertCallJob {
  const uint8_t* blob;  // 16-byte aligned
  ExpertCallMatrix gate, up, down;
  uint16_t first;  // in the lists below
  uint8_t pairs;   // 1 .. kJobPairs
};

struct ExpertCall {
  ExpertCallJob jobs[kCallJobs];
  int pair[kCallPairs];      // row * top_k + k
  float weight[kCallPairs];  // the router's
  int count;                 // jobs
};
static_assert(sizeof(ExpertCall) <= 3900);

// Rows as integers, in either order; null: no format of the call reads it.
struct IntegerRows {
  uint4* words;    // [rows, chunks, kChunkVectors]
  uint4* digits;   // [rows, chunks, kDigitVectors]
  float* unscale;  // [rows, chunks]
};

// Pairs of a call, none at first.
struct PairSet {
  static constexpr size_t kMost = 256;
  uint32_t bits[kMost / 32] = {};
  void add(int pair) { bits[pair / 32] |= 1u << (pair % 32); }
  __host__ __device__ bool has(size_t pair) const {
    return pair < kMost && (bits[pair / 32] >> (pair % 32) & 1) != 0;
  }
};
// What of a call's sum the kernels have no part in.
struct PairsElsewhere {
  const float* partial = nullptr;  // [pairs, dim], what the GPU may read
  PairSet computed;                // found there
  PairSet dropped;                 // zeros
};

struct GateUpArgs {
  int dim, inter, top_k;
  float limit;
  IntegerRows x;  // of [rows, dim]
  float* hidden;  // [pairs, inter]
};

struct DownArgs {
  int dim, inter;
  IntegerRows hidden;  // of [pairs, inter]
  float* partial;      // [pairs, dim]
};

}  // namespace rota
