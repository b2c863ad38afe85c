// Scores of a tile of keys: a block holds them decoded, its warps take a key each with a head a
// lane.
#include <algorithm>

#include "device/cuda/early_launch.cuh"
#include "device/cuda/key_at.cuh"
#include "device/cuda/reduce.cuh"
#include "device/cuda/selection.cuh"

namespace rota {
namespace {

constexpr int kTile = 16, kWarps = 8, kThreads = kWarps * kWarp;
constexpr int kRowsAtOnce = 32768;  // a grid's second side has 65,535 at most

// blockIdx.x: tile of keys, blockIdx.y: row. Shared: keys [kTile, dim], queries [heads, dim + 1].
__global__ void scores_kernel(const IndexArgs args, gpu::Keys keys) {
  take_turn();
  extern __shared__ __align__(16) float shared[];
  const int row = static_cast<int>(blockIdx.y), dim = args.head_dim, heads = args.heads;
  const int visible = (args.first_position + row + 1) / args.ratio;
  const int first = static_cast<int>(blockIdx.x) * kTile, count = min(kTile, visible - first);
  if (count <= 0) return;
  // One float of padding: the lanes of a warp read one channel of many heads.
  float* tile = shared;
  float* queries = shared + kTile * dim;
  const float* q = args.q.address() + static_cast<size_t>(row) * static_cast<size_t>(heads * dim);
  for (int i = static_cast<int>(threadIdx.x); i < heads * dim; i += kThreads) {
    queries[i / dim * (dim + 1) + i % dim] = q[i];
  }
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int k = warp; k < count; k += kWarps) {
    gpu::decode_row(keys, keys.row(static_cast<size_t>(first + k)), lane, tile + k * dim);
  }
  __syncthreads();
  const float* weights =
      args.weights.address() + static_cast<size_t>(row) * static_cast<size_t>(heads);
  for (int k = warp; k < count; k += kWarps) {
    float sum = 0;
    for (int h = lane; h < heads; h += kWarp) {
      float dot = 0;
      for (int d = 0; d < dim; ++d) dot = fmaf(queries[h * (dim + 1) + d], tile[k * dim + d], dot);
      sum = fmaf(fmaxf(dot, 0.f), weights[h], sum);
    }
    sum = warp_sum(sum);
    if (lane == 0) {
      args.scores.address()[static_cast<size_t>(row) * static_cast<size_t>(args.score_stride) +
                            static_cast<size_t>(first + k)] = sum;
    }
  }
}

}  // namespace

size_t index_scores_shared_bytes(int heads, int dim) {
  return static_cast<size_t>(heads * (dim + 1) + kTile * dim) * sizeof(float);
}

cudaError_t allow_index_scores() {
  return cudaFuncSetAttribute(scores_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(kMostSharedBytes));
}

void launch_index_scores(LaunchQueue& queue, const IndexArgs& args) {
  const size_t bytes = index_scores_shared_bytes(args.heads, args.head_dim);
  for (int done = 0; done < args.rows; done += kRowsAtOnce) {
    const size_t row = static_cast<size_t>(done);
    IndexArgs band = args;
    band.rows = std::min(kRowsAtOnce, args.rows - done);
    band.first_position += done;
    band.q = args.q + row * static_cast<size_t>(args.heads * args.head_dim);
    band.weights = args.weights + row * static_cast<size_t>(args.heads);
    band.scores = args.scores + row * static_cast<size_t>(args.score_stride);
    const int widest = (band.first_position + band.rows) / band.ratio;
    if (widest == 0) continue;
    const dim3 blocks(static_cast<unsigned>((widest + kTile - 1) / kTile),
                      static_cast<unsigned>(band.rows));
    launch_early(queue, scores_kernel, blocks, kThreads, bytes, band, gpu::keys_of(args.keys));
  }
}

}  // namespace rota
