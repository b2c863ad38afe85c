// What the expert kernels are told of a layer call: which blobs, who wants them, where the split
// activations lie. Owns the layout of these arguments and of split rows; computes nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "formats/block.h"

namespace rota {

// A SPLIT ROW is a row of floats as two halves a value, for tensor cores whose products are exact:
//   v * 2^s = hi + lo * 2^-11,  s such that the row's largest magnitude is in [2^14, 2^15)
// so that hi + lo * 2^-11 has 22 bits, or is within 2^-50 of the largest. Of every 32 values there
// are 128 bytes:
//   hi of lane 0's eight values, of lane 1's, 2's, 3's (16 bytes each), then their lo
// Lane t of four has the values 4t .. 4t + 3 and 16 + 4t .. 16 + 4t + 3, each four in the order
// 0, 2, 1, 3: two halves of a register are then bytes 0 and 2, or 1 and 3, of a weight word.
constexpr int kSplitGroup = 32;
constexpr size_t kSplitGroupBytes = 128;
constexpr float kLoUnit = 0x1p-11f;

// Of one launch: kernel parameters, 4 KiB at most.
constexpr int kCallJobs = 32, kCallPairs = 256;
constexpr int kJobPairs = 16;  // of one job: a tile of 8 columns has 4 pairs, there are 4 tiles

// A matrix of a job: rows of whole blocks, of which a piece of each row is brought to shared memory
// at a time.
struct ExpertCallMatrix {
  uint32_t offset;  // in the blob
  uint16_t row_bytes, pieces;
  uint8_t piece_bytes;
  uint8_t format;  // Format, all below 256
};

struct ExpertCallJob {
  const uint8_t* blob;  // 32-byte aligned; up to 15 bytes behind its end are read
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

struct GateUpArgs {
  int dim, inter, top_k;
  float limit;
  const uint4* x;          // split rows [rows, dim]
  const float* x_unscale;  // [rows], 2^-s
  uint4* hidden;           // split rows [pairs, inter]; null: into hidden_floats alone
  float* hidden_unscale;   // [pairs]
  float* hidden_floats;    // [pairs, inter]
};

struct DownArgs {
  int dim, inter;
  const uint4* hidden;
  const float* hidden_unscale;
  float* partial;  // [pairs, dim]
};

}  // namespace rota
