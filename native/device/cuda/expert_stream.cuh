// A block's way through its tiles (expert_product.cuh): the warps' rings, and who adds up.
#pragma once

#include "device/cuda/expert_product.cuh"

namespace rota {

// Which rows of which job.
struct Tile {
  const ExpertCallJob* job;
  int row;
};

// Work says what the tiles are:
//   int tiles(), Tile tile(index) with its job
//   Stretch first(tile) and second(tile), of first_pieces(tile) and together pieces(tile)
//   Columns<n> columns<n>(tile)
//   void finish(tile, sum): by one warp; sum(stretch, pair, row) is a whole dot product
// Before run() nothing but weights is read: they may come while the kernel before still
// computes what `columns` will point to.
template <int kMostTiles, typename Work>
class TileStream {
 public:
  using Parts = SharedParts<kMostTiles>;

  __device__ TileStream(const Work& work, uint8_t* shared)
      : work_(work),
        shared_(shared),
        ring_(static_cast<Shared>(__cvta_generic_to_shared(shared)) +
              static_cast<Shared>(warp() * kRingBytes)),
        bring_tile_(static_cast<int>(blockIdx.x)) {
    if (threadIdx.x < 2 * Parts::kDepth) counters()[threadIdx.x] = 0;
    __syncthreads();
    enter(bring_tile_, 0);
    for (int s = 0; s < kStages; ++s) bring_next(s);
  }

  __device__ void run() {
    int turn = 0, stage = 0;
    const int tiles = work_.tiles();
    for (int index = static_cast<int>(blockIdx.x); index < tiles;
         index += static_cast<int>(gridDim.x), ++turn) {
      const auto tile = work_.tile(index);
      const int pairs = tile.job->pairs;
      if (kMostTiles == 1 || pairs <= 4) {
        one_tile<1>(tile, turn, stage);
      } else if (kMostTiles == 2 || pairs <= 8) {
        one_tile<kMostTiles == 1 ? 1 : 2>(tile, turn, stage);
      } else {
        one_tile<kMostTiles>(tile, turn, stage);
      }
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x / 32); }
  // Warps take other pieces in other tiles, for not all have as many; sums are kept by the piece
  // that they begin with.
  __device__ static int first_piece(int turn) { return (warp() + 3 * turn) % kWarps; }
  __device__ int* counters() { return reinterpret_cast<int*>(shared_ + Parts::kCountersAt); }
  __device__ float* sums(int slot, int piece) {
    return reinterpret_cast<float*>(shared_ + Parts::kSumsAt) +
           (slot * kWarps + piece) * Parts::kSums;
  }

  __device__ __forceinline__ void enter(int index, int turn) {
    bring_piece_ = first_piece(turn);
    bring_turn_ = turn;
    if (index < work_.tiles()) bring_from_ = work_.tile(index);
  }
  __device__ __forceinline__ void bring_next(int stage) {
    const int tiles = work_.tiles();
    while (bring_tile_ < tiles && bring_piece_ >= work_.pieces(bring_from_)) {
      bring_tile_ += static_cast<int>(gridDim.x);
      enter(bring_tile_, bring_turn_ + 1);
    }
    if (bring_tile_ < tiles) {
      const int before = work_.first_pieces(bring_from_);
      const bool late = bring_piece_ >= before;
      bring(late ? work_.second(bring_from_) : work_.first(bring_from_),
            late ? bring_piece_ - before : bring_piece_,
            ring_ + static_cast<Shared>(stage * kStageBytes), lane());
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    bring_piece_ += kWarps;
  }

  template <int kTiles>
  __device__ __forceinline__ void one_piece(const Stretch& s, int piece, int& stage,
                                            const Columns<kTiles>& columns, Sums<kTiles>& sums) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
    __syncwarp();
    multiply_any(s, piece, ring_ + static_cast<Shared>(stage * kStageBytes), lane(), columns, sums);
    __syncwarp();
    bring_next(stage);
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }

  template <int kTiles>
  __device__ __forceinline__ void one_tile(const Tile& tile, int turn, int& stage) {
    const Stretch a = work_.first(tile), b = work_.second(tile);
    const Columns<kTiles> columns = work_.template columns<kTiles>(tile);
    Sums<kTiles> of_a, of_b;
    int i = first_piece(turn);
    for (; i < a.pieces; i += kWarps) one_piece(a, i, stage, columns, of_a);
    for (; i < a.pieces + b.pieces; i += kWarps) {
      one_piece(b, i - a.pieces, stage, columns, of_b);
    }
    const int slot = turn % Parts::kDepth;
    volatile int* done = counters() + Parts::kDepth + slot;
    // What the slot held of an earlier tile has been added up.
    while (*done < turn / Parts::kDepth) {
    }
    __threadfence_block();
    __syncwarp();
    float* kept = sums(slot, first_piece(turn));
    keep_sums(of_a, factor_of(a.format), kept, lane());
    keep_sums(of_b, factor_of(b.format), kept + 64 * kTiles, lane());
    if (!is_last(slot)) return;
    work_.finish(tile, [&](int which, int pair, int row) {
      float sum = 0;
      for (int p = 0; p < kWarps; ++p) sum += sums(slot, p)[(which * 4 * kTiles + pair) * 16 + row];
      return sum;
    });
    __syncwarp();
    if (lane() == 0) {
      counters()[slot] = 0;
      __threadfence_block();
      *done = turn / Parts::kDepth + 1;
    }
  }

  // Of a block's warps, to leave their sums in a slot; what the others left is then visible.
  __device__ __forceinline__ bool is_last(int slot) {
    __threadfence_block();
    __syncwarp();
    int before = 0;
    if (lane() == 0) before = atomicAdd(counters() + slot, 1);
    before = __shfl_sync(0xffffffffu, before, 0);
    __threadfence_block();
    return before == kWarps - 1;
  }

  const Work& work_;
  uint8_t* shared_;
  Shared ring_;
  // What is brought next, by this warp.
  int bring_tile_, bring_piece_ = 0, bring_turn_ = 0;
  Tile bring_from_;
};

}  // namespace rota
