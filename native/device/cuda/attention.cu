// Two kernels: parts of the keys with their own softmax, and the sum of a row's parts with the
// sink.
#include "device/cuda/attention.cuh"

#include <algorithm>

#include "device/cuda/early_launch.cuh"
#include "device/cuda/key_at.cuh"
#include "device/cuda/reduce.cuh"
#include "device/cuda/rotation.cuh"

namespace rota {
namespace {

using gpu::Keys;

constexpr int kHeadsABlock = 8;  // a warp each
constexpr int kKeysAtOnce = 4;   // whose scores are summed side by side
constexpr int kTile = 16;        // keys held decoded in shared memory
constexpr int kThreads = kHeadsABlock * kWarp;
constexpr float kBelowAllScores = -1e30f;  // the reference's first maximum

// How queries and the output are turned; nothing without `pairs`.
struct Turns {
  const float* freq;
  int pairs, first_position;
};

struct AttentionShape {
  AttentionArgs args;
  Keys ring, block, listed;
  Turns turns;
  int parts;      // of the longest row
  float* values;  // [rows, heads, parts, head_dim], not yet divided
  float* maxima;  // [rows, heads, parts]
  float* sums;    // [rows, heads, parts]
};

__device__ int end_of(const AttentionArgs& args, int row) {
  return args.first_position + (args.causal ? row + 1 : 0);
}

__device__ int keys_of_row(const AttentionArgs& args, int row) {
  const int listed = args.list ? args.list_count.address()[row] : 0;
  return min(end_of(args, row), args.window) + args.block_rows + listed;
}

// A warp decodes the row's key number `index` in the order of summation. One place decodes for all
// three kinds: code that is written out several times has to be fetched first, and that takes
// longer than it runs.
__device__ void decode_key(const AttentionShape& shape, int row, int index, int lane, float* out) {
  const AttentionArgs& args = shape.args;
  const int end = end_of(args, row), in_window = min(end, args.window);
  const Keys* keys = &shape.ring;
  if (index < in_window) {
    index = (end - in_window + index) % args.ring_slots;
  } else if (index < in_window + args.block_rows) {
    keys = &shape.block;
    index -= in_window;
  } else {
    keys = &shape.listed;
    index = args.list.address()[static_cast<size_t>(row) * static_cast<size_t>(args.list_stride) +
                                static_cast<size_t>(index - in_window - args.block_rows)];
  }
  gpu::decode_row(*keys, keys->row(static_cast<size_t>(index)), lane, out);
}

// Channels of a lane: lane, lane + 32, ..
template <int kChannels>
struct HeadState {
  float q[kChannels], out[kChannels];
  float largest = kBelowAllScores, total = 0;

  // The keys at `tile` [count, dim], count at most kKeysAtOnce; all lanes have the scores.
  __device__ void add(const float* tile, int count, int dim, int lane, float scale) {
    // Shared memory's speed binds: a key is read once, for its score and as its value.
    float key[kKeysAtOnce][kChannels];
    float score[kKeysAtOnce];
    float best = largest;
#pragma unroll
    for (int k = 0; k < kKeysAtOnce; ++k) {
      float sum = 0;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        const int d = lane + c * kWarp;
        key[k][c] = k < count && d < dim ? tile[k * dim + d] : 0.f;
        sum = fmaf(q[c], key[k][c], sum);
      }
      score[k] = warp_sum(sum) * scale;
      if (k < count) best = fmaxf(best, score[k]);
    }
    const float shrink = expf(largest - best);
    largest = best;
    total *= shrink;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) out[c] *= shrink;
#pragma unroll
    for (int k = 0; k < kKeysAtOnce; ++k) {
      if (k >= count) break;
      const float weight = expf(score[k] - largest);
      total += weight;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) out[c] = fmaf(weight, key[k][c], out[c]);
    }
  }
};

// A warp turns the trailing channels of its query q [dim] into `out` [2 * pairs]: a pair a lane, in
// one place for the same reason.
__device__ __forceinline__ void turn_query(const AttentionShape& shape, int row, const float* q,
                                           int lane, float* out) {
  const Turns& turns = shape.turns;
  const float* trailing = q + shape.args.head_dim - 2 * turns.pairs;
#pragma unroll 1
  for (int p = lane; p < turns.pairs; p += kWarp) {
    const float2 both = turned(trailing[2 * p], trailing[2 * p + 1],
                               turn_of(turns.first_position + row, turns.freq[p], false));
    out[2 * p] = both.x, out[2 * p + 1] = both.y;
  }
  __syncwarp();
}

// blockIdx: x part, y heads, z row.
template <int kChannels>
__global__ void __launch_bounds__(kThreads)
    part_kernel(const __grid_constant__ AttentionShape shape) {
  take_turn();
  extern __shared__ __align__(16) float tile[];  // [kTile, head_dim]; turned [heads, 2 * pairs]
  const AttentionArgs& args = shape.args;
  const int row = static_cast<int>(blockIdx.z), part = static_cast<int>(blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, dim = args.head_dim;
  const int head =
      static_cast<int>(blockIdx.y) * kHeadsABlock + static_cast<int>(threadIdx.x) / kWarp;
  const int first = part * kKeysAPart, last = min(keys_of_row(args, row), first + kKeysAPart);
  if (first >= last) return;  // the whole block
  const bool works = head < args.heads;
  const size_t at =
      static_cast<size_t>(row) * static_cast<size_t>(args.heads) + static_cast<size_t>(head);
  const float* q = args.q.address() + at * static_cast<size_t>(dim);
  const int width = 2 * shape.turns.pairs, straight = dim - width;
  float* turned_q = tile + kTile * dim + static_cast<int>(threadIdx.x) / kWarp * width;
  if (works) turn_query(shape, row, q, lane, turned_q);
  HeadState<kChannels> state;
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    const int d = lane + c * kWarp;
    state.q[c] = 0, state.out[c] = 0;
    if (works && d < dim) state.q[c] = d < straight ? q[d] : turned_q[d - straight];
  }
  for (int begin = first; begin < last; begin += kTile) {
    const int count = min(kTile, last - begin);
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x) / kWarp; k < count; k += kHeadsABlock) {
      decode_key(shape, row, begin + k, lane, tile + k * dim);
    }
    __syncthreads();
    if (!works) continue;
    for (int k = 0; k < count; k += kKeysAtOnce) {
      state.add(tile + k * dim, min(kKeysAtOnce, count - k), dim, lane, args.scale);
    }
  }
  if (!works) return;
  const size_t out = at * static_cast<size_t>(shape.parts) + static_cast<size_t>(part);
  if (lane == 0) {
    shape.maxima[out] = state.largest;
    shape.sums[out] = state.total;
  }
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    const int d = lane + c * kWarp;
    if (d < dim)
      shape.values[out * static_cast<size_t>(dim) + static_cast<size_t>(d)] = state.out[c];
  }
}

// blockIdx: x head, y row; threads stride over channels. Parts are added in order.
__global__ void sum_kernel(const __grid_constant__ AttentionShape shape) {
  take_turn();
  const AttentionArgs& args = shape.args;
  const int row = static_cast<int>(blockIdx.y), head = static_cast<int>(blockIdx.x);
  const size_t dim = static_cast<size_t>(args.head_dim),
               at = static_cast<size_t>(row) * static_cast<size_t>(args.heads) +
                    static_cast<size_t>(head);
  const int keys = keys_of_row(args, row), parts = (keys + kKeysAPart - 1) / kKeysAPart;
  const size_t first = at * static_cast<size_t>(shape.parts);
  float largest = kBelowAllScores;
  for (int p = 0; p < parts; ++p) largest = fmaxf(largest, shape.maxima[first + p]);
  float total = 0;
  for (int p = 0; p < parts; ++p) {
    total = fmaf(shape.sums[first + p], expf(shape.maxima[first + p] - largest), total);
  }
  const float denominator = total + expf(args.sinks.address()[head] - largest);
#pragma unroll 1
  for (size_t begin = 0; begin < dim; begin += blockDim.x) {
    const size_t d = begin + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < parts && d < dim; ++p) {
      sum = fmaf(shape.values[(first + p) * dim + d], expf(shape.maxima[first + p] - largest), sum);
    }
    // Without a key there is no value, whatever the sink.
    float value = parts == 0 ? 0.f : sum / denominator;
    if (shape.turns.pairs > 0) {
      value = turned_in_lanes(value, static_cast<int>(d), args.head_dim,
                              args.head_dim - 2 * shape.turns.pairs,
                              shape.turns.first_position + row, shape.turns.freq, true);
    }
    if (d < dim) args.out.address()[at * dim + d] = value;
  }
}

int most_parts(const AttentionArgs& args) {
  const int keys = args.window + args.block_rows + (args.list ? args.list_stride : 0);
  return std::max(1, (keys + kKeysAPart - 1) / kKeysAPart);
}

Keys block_keys(const AttentionArgs& args) {
  const size_t bytes = static_cast<size_t>(args.head_dim) * sizeof(float);
  return {KeyFormat::kF32, args.head_dim, bytes,
          reinterpret_cast<const uint8_t*>(args.block.address())};
}

template <int kChannels>
void launch_parts(LaunchQueue& queue, const AttentionShape& shape) {
  const AttentionArgs& args = shape.args;
  const dim3 blocks(static_cast<unsigned>(shape.parts),
                    static_cast<unsigned>((args.heads + kHeadsABlock - 1) / kHeadsABlock),
                    static_cast<unsigned>(args.rows));
  const size_t shared =
      (static_cast<size_t>(kTile) * static_cast<size_t>(args.head_dim) +
       static_cast<size_t>(kHeadsABlock) * 2 * static_cast<size_t>(shape.turns.pairs)) *
      sizeof(float);
  launch_early(queue, part_kernel<kChannels>, blocks, kThreads, shared, shape);
}

void launch_band(LaunchQueue& queue, const AttentionArgs& args, const Turns& turns,
                 float* scratch) {
  const size_t cells = static_cast<size_t>(args.rows) * static_cast<size_t>(args.heads) *
                       static_cast<size_t>(most_parts(args));
  AttentionShape shape{
      args,           gpu::keys_of(args.ring), block_keys(args),    gpu::keys_of(args.listed_keys),
      turns,          most_parts(args),        scratch + 2 * cells, scratch,
      scratch + cells};
  if (args.head_dim <= 2 * kWarp) {
    launch_parts<2>(queue, shape);
  } else if (args.head_dim <= 4 * kWarp) {
    launch_parts<4>(queue, shape);
  } else {
    launch_parts<kMostHeadDim / kWarp>(queue, shape);
  }
  const dim3 blocks(static_cast<unsigned>(args.heads), static_cast<unsigned>(args.rows));
  launch_early(queue, sum_kernel, blocks, 128, 0, shape);
}

}  // namespace

size_t attention_scratch_floats(int heads, int head_dim, int keys) {
  const int parts = std::max(1, (keys + kKeysAPart - 1) / kKeysAPart);
  return static_cast<size_t>(kAttentionRows) * static_cast<size_t>(heads) *
         static_cast<size_t>(parts) * static_cast<size_t>(head_dim + 2);
}

void launch_attention(LaunchQueue& queue, const AttentionArgs& args, const Rotation& rotation,
                      float* scratch) {
  const size_t width = static_cast<size_t>(args.heads) * static_cast<size_t>(args.head_dim);
  for (int done = 0; done < args.rows; done += kAttentionRows) {
    const size_t row = static_cast<size_t>(done);
    AttentionArgs band = args;
    band.rows = std::min(kAttentionRows, args.rows - done);
    // A row that is not causal sees up to first_position, whichever it is.
    band.first_position += args.causal ? done : 0;
    band.q = args.q + row * width;
    band.out = args.out + row * width;
    if (args.list) {
      band.list = args.list + row * static_cast<size_t>(args.list_stride);
      band.list_count = args.list_count + row;
    }
    launch_band(queue, band, {rotation.freq.address(), rotation.pairs, args.first_position + done},
                scratch);
  }
}

}  // namespace rota
