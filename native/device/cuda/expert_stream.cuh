// A block's way through its tiles (expert_product.cuh): the warps' rings, and who adds up.
#pragma once

#include "device/cuda/expert_product.cuh"

namespace rota {

// Which strips of which job.
struct Tile {
  int job, number;
};

// Work says what the tiles are:
//   int jobs(), tiles_a_job()
//   ExpertCallMatrix matrix(job, which), Strip strip(tile, which): the first and the second strip
//   Columns<n> columns<n>(tile)
//   void finish(tile, sum): by one warp; sum(which, pair, row) is a whole dot product
// Before run() nothing but weights is read: they may come while the kernel before still
// computes what `columns` will point to.
template <int kMostTiles, typename Work>
class TileStream {
 public:
  using Parts = SharedParts<kMostTiles>;

  __device__ TileStream(const Work& work, uint8_t* shared)
      : work_(work),
        shared_(shared),
        ring_(shared_address(shared) + static_cast<Shared>(warp() * kRingBytes)),
        brings_{0, static_cast<int>(blockIdx.x)} {
    if (threadIdx.x < Parts::kDepth) {
      make_gate(left(static_cast<int>(threadIdx.x)), kWarps);
      make_gate(added(static_cast<int>(threadIdx.x)), 1);
    }
    __syncthreads();
    settle(brings_);
    enter(0);
    for (int s = 0; s < kStages; ++s) bring_next(s);
  }

  __device__ void run() {
    int turn = 0, stage = 0;
    Tile tile{0, static_cast<int>(blockIdx.x)}, before{};
    for (settle(tile); tile.job < work_.jobs(); ++turn) {
      const int pairs = work_.pairs(tile);
      if constexpr (kMostTiles > 1) {
        if (pairs <= kMostTiles) {
          one_tile<kMostTiles / 2>(tile, turn, stage);
        } else {
          one_tile<kMostTiles>(tile, turn, stage);
        }
      } else {
        one_tile<1>(tile, turn, stage);
      }
      if (turn > 0) add_up(before, turn - 1);
      before = tile;
      tile.number += static_cast<int>(gridDim.x);
      settle(tile);
    }
    if (turn > 0) add_up(before, turn - 1);
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x / 32); }
  // Warps take other pieces in other tiles, for not all have as many; sums are kept by the piece
  // that they begin with.
  __device__ static int first_piece(int turn) { return (warp() + 3 * turn) % kWarps; }
  __device__ float* sums(int slot, int piece) {
    return reinterpret_cast<float*>(shared_ + Parts::kSumsAt) +
           (slot * kWarps + piece) * Parts::kSums;
  }
  // A slot's gates: its sums are there, they have been read.
  __device__ Shared left(int slot) const {
    return shared_address(shared_ + Parts::kGatesAt) + static_cast<Shared>(slot * 2 * kGateBytes);
  }
  __device__ Shared added(int slot) const { return left(slot) + kGateBytes; }

  // A number behind a job's last tile is one of the jobs behind it.
  __device__ __forceinline__ void settle(Tile& tile) const {
    while (tile.job < work_.jobs() && tile.number >= work_.tiles_a_job()) {
      tile.number -= work_.tiles_a_job();
      ++tile.job;
    }
  }
  __device__ __forceinline__ void enter(int turn) {
    bring_piece_ = first_piece(turn);
    bring_turn_ = turn;
    if (brings_.job >= work_.jobs()) return;
    first_ = work_.strip(brings_, 0);
    second_ = work_.strip(brings_, 1);
    first_pieces_ = work_.matrix(brings_.job, 0).pieces;
    pieces_ = first_pieces_ + work_.matrix(brings_.job, 1).pieces;
  }
  __device__ __forceinline__ void bring_next(int stage) {
    while (brings_.job < work_.jobs() && bring_piece_ >= pieces_) {
      brings_.number += static_cast<int>(gridDim.x);
      settle(brings_);
      enter(bring_turn_ + 1);
    }
    if (brings_.job < work_.jobs()) {
      const bool late = bring_piece_ >= first_pieces_;
      bring_piece(late ? second_ : first_, late ? bring_piece_ - first_pieces_ : bring_piece_,
                  ring_ + static_cast<Shared>(stage * kStageBytes), lane());
    }
    close_group();
    bring_piece_ += kWarps;
  }

  template <int kTiles>
  __device__ __forceinline__ void one_piece(const ExpertCallMatrix& m, int piece, int& stage,
                                            const Columns<kTiles>& columns, Sums<kTiles>& sums) {
    wait_for_groups<kStages - 1>();
    __syncwarp();
    multiply_any(m, piece, ring_ + static_cast<Shared>(stage * kStageBytes), lane(), columns, sums);
    __syncwarp();
    bring_next(stage);
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }

  template <int kTiles>
  __device__ __forceinline__ void one_tile(const Tile& tile, int turn, int& stage) {
    const ExpertCallMatrix& a = work_.matrix(tile.job, 0);
    const ExpertCallMatrix& b = work_.matrix(tile.job, 1);
    const Columns<kTiles> columns = work_.template columns<kTiles>(tile);
    Sums<kTiles> of_a, of_b;
    const int a_pieces = a.pieces, pieces = a_pieces + b.pieces;
    int i = first_piece(turn);
    for (; i < a_pieces; i += kWarps) one_piece(a, i, stage, columns, of_a);
    for (; i < pieces; i += kWarps) one_piece(b, i - a_pieces, stage, columns, of_b);
    const int slot = turn % Parts::kDepth;
    wait_at(added(slot), turn / Parts::kDepth % 2 ^ 1);  // what it held of an earlier tile
    float* kept = sums(slot, first_piece(turn));
    keep_sums(of_a, factor_of(a), kept, lane());
    keep_sums(of_b, factor_of(b), kept + 16 * 2 * kMostTiles, lane());
    __syncwarp();
    if (lane() == 0) arrive_at(left(slot));
  }

  // By another warp every turn.
  __device__ __forceinline__ void add_up(const Tile& tile, int turn) {
    if (turn % kWarps != warp()) return;
    const int slot = turn % Parts::kDepth;
    wait_at(left(slot), turn / Parts::kDepth % 2);
    work_.finish(tile, [&](int which, int pair, int row) {
      float sum = 0;
      for (int p = 0; p < kWarps; ++p) {
        sum += sums(slot, p)[(which * 2 * kMostTiles + pair) * 16 + row];
      }
      return sum;
    });
    __syncwarp();
    if (lane() == 0) arrive_at(added(slot));
  }

  const Work& work_;
  uint8_t* shared_;
  Shared ring_;
  // What is brought next, by this warp.
  Tile brings_;
  Strip first_, second_;
  int bring_piece_ = 0, bring_turn_ = 0, first_pieces_ = 0, pieces_ = 0;
};

}  // namespace rota
