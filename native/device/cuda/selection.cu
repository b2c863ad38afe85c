// The k best of a row by a block: the k-th best score by its digits, then what is above it, and of
// those equal to it the first.
#include "device/cuda/selection.cuh"

#include <algorithm>

#include "device/cuda/early_launch.cuh"
#include "device/cuda/reduce.cuh"

namespace rota {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / kWarp;
constexpr int kDigits = 256;

// Larger scores are larger numbers, and none is 0, not even a NaN; -0 is as good as 0.
__device__ uint32_t ordered(float score) {
  const uint32_t bits = __float_as_uint(score + 0.f);
  return max((bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u, 1u);
}

// How many of a block's threads before this one have the flag; *all: how many have it.
__device__ int count_before(bool flag, int* shared, int* all) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const unsigned flags = __ballot_sync(kAllLanes, flag);
  __syncthreads();
  if (lane == 0) shared[warp] = __popc(flags);
  __syncthreads();
  int before = __popc(flags & ((1u << lane) - 1u)), sum = 0;
  for (int w = 0; w < kWarps; ++w) {
    before += w < warp ? shared[w] : 0;
    sum += shared[w];
  }
  *all = sum;
  return before;
}

// Candidates [0, n) of a row: score(i), and is(i) whether i is one at all.
template <typename Candidates>
struct Selector {
  const Candidates& candidates;
  int n;
  int* counts;  // shared, [kDigits]
  int* shared;  // shared, [kWarps + 3]

  // The k-th best ordered score, k = *most at least 1; *equal: how many of those equal to it are
  // among the k best. With fewer candidates than that, *most becomes their number.
  __device__ uint32_t threshold(int* most, int* equal) {
    uint32_t prefix = 0;
    int k = *most;
    for (int shift = 24; shift >= 0; shift -= 8) {
      for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kThreads) counts[d] = 0;
      __syncthreads();
      const uint32_t known = shift == 24 ? 0u : ~0u << (shift + 8);
      for (int begin = 0; begin < n; begin += kThreads) {
        const int i = begin + static_cast<int>(threadIdx.x);
        const uint32_t key = i < n && candidates.is(i) ? ordered(candidates.score(i)) : 0u;
        const bool counts_here = key != 0u && (key & known) == prefix;
        const unsigned counting = __ballot_sync(kAllLanes, counts_here);
        if (!counts_here) continue;
        // Scores are much alike in their first digits: lanes with one digit count together.
        const uint32_t digit = (key >> shift) & 255u;
        const unsigned same = __match_any_sync(counting, digit);
        if (static_cast<int>(threadIdx.x) % kWarp == __ffs(static_cast<int>(same)) - 1) {
          atomicAdd(&counts[digit], __popc(same));
        }
      }
      __syncthreads();
      if (threadIdx.x < kWarp) find_digit(k, shift == 24);
      __syncthreads();
      if (shift == 24) *most = k = min(k, shared[kWarps + 2]);
      if (k == 0) return 0;
      prefix |= static_cast<uint32_t>(shared[kWarps]) << shift;
      k = shared[kWarps + 1];
      __syncthreads();
    }
    *equal = k;
    return prefix;
  }

  // Of the first warp: the digit that the k-th best has and how many of its own are among the k
  // best, into shared. A lane has eight digits, the first lane the largest.
  __device__ void find_digit(int k, bool first) {
    constexpr int kEach = kDigits / kWarp;
    const int lane = static_cast<int>(threadIdx.x), top = kDigits - 1 - kEach * lane;
    int mine = 0;
    for (int i = 0; i < kEach; ++i) mine += counts[top - i];
    int before = mine;  // of lanes up to this one
    for (int step = 1; step < kWarp; step *= 2) {
      const int other = __shfl_up_sync(kAllLanes, before, step);
      if (lane >= step) before += other;
    }
    if (first) {  // all candidates are counted
      const int all = __shfl_sync(kAllLanes, before, kWarp - 1);
      if (lane == 0) shared[kWarps + 2] = all;
      k = min(k, all);
    }
    before -= mine;
    if (before >= k || before + mine < k) return;
    int digit = top, left = k - before;
    while (counts[digit] < left) left -= counts[digit--];
    shared[kWarps] = digit;
    shared[kWarps + 1] = left;
  }

  // visit(i, place) for each of the k best, place counting them by index; `skip` for the others.
  // Returns how many they are.
  template <typename Visit, typename Skip>
  __device__ int choose(int k, const Visit& visit, const Skip& skip) {
    int equal = 0;
    const uint32_t limit = threshold(&k, &equal);
    if (k == 0) return 0;
    int placed = 0, ties = 0;
    for (int begin = 0; begin < n; begin += kThreads) {
      const int i = begin + static_cast<int>(threadIdx.x);
      const bool is = i < n && candidates.is(i);
      const uint32_t key = is ? ordered(candidates.score(i)) : 0u;
      int tied = 0, chosen = 0;
      const bool tie = is && key == limit;
      const int tie_place = ties + count_before(tie, shared, &tied);
      const bool best = is && (key > limit || (tie && tie_place < equal));
      const int place = placed + count_before(best, shared, &chosen);
      if (best) {
        visit(i, place);
      } else if (i < n) {
        skip(i);
      }
      ties += tied;
      placed += chosen;
    }
    return placed;
  }
};

__device__ int visible_groups(const IndexArgs& args, int row) {
  return (args.first_position + row + 1) / args.ratio;
}

// Blocks of groups, each as good as its best; the newest always is the best.
struct Blocks {
  const float* scores;
  int visible, block_size, count;
  __device__ bool is(int) const { return true; }
  __device__ float score(int block) const {
    if (block == count - 1) return __int_as_float(0x7f800000);
    float best = scores[block * block_size];
    for (int i = 1; i < block_size; ++i) best = fmaxf(best, scores[block * block_size + i]);
    return best;
  }
};

struct Groups {
  const float* scores;
  const uint8_t* keep;
  int block_size;
  __device__ bool is(int group) const { return keep == nullptr || keep[group / block_size] != 0; }
  __device__ float score(int group) const { return scores[group]; }
};

__global__ void __launch_bounds__(kThreads)
    pool_kernel(const IndexArgs args, int block_size, int blocks, uint8_t* keep, int keep_stride) {
  take_turn();
  __shared__ int counts[kDigits], shared[kWarps + 3];
  const int row = static_cast<int>(blockIdx.x), visible = visible_groups(args, row);
  const int count = (visible + block_size - 1) / block_size;
  if (count == 0) return;
  const size_t at = static_cast<size_t>(row);
  const Blocks candidates{args.scores.address() + at * static_cast<size_t>(args.score_stride),
                          visible, block_size, count};
  keep += at * static_cast<size_t>(keep_stride);
  Selector<Blocks> select{candidates, count, counts, shared};
  select.choose(
      min(blocks, count), [keep](int i, int) { keep[i] = 1; }, [keep](int i) { keep[i] = 0; });
}

__global__ void __launch_bounds__(kThreads)
    groups_kernel(const IndexArgs args, const uint8_t* keep, int keep_stride, int block_size,
                  int top_k, int* list, int list_stride, int* list_count) {
  take_turn();
  __shared__ int counts[kDigits], shared[kWarps + 3];
  const int row = static_cast<int>(blockIdx.x), visible = visible_groups(args, row);
  const size_t at = static_cast<size_t>(row);
  const Groups candidates{args.scores.address() + at * static_cast<size_t>(args.score_stride),
                          keep == nullptr ? nullptr : keep + at * static_cast<size_t>(keep_stride),
                          block_size};
  list += at * static_cast<size_t>(list_stride);
  Selector<Groups> select{candidates, visible, counts, shared};
  const int chosen =
      visible == 0
          ? 0
          : select.choose(top_k, [list](int i, int place) { list[place] = i; }, [](int) {});
  if (threadIdx.x == 0) list_count[row] = chosen;
}

}  // namespace

void launch_candidate_pool(LaunchQueue& queue, const IndexArgs& args, int block_size, int blocks,
                           uint8_t* keep, int keep_stride) {
  if (args.rows == 0) return;
  launch_early(queue, pool_kernel, static_cast<unsigned>(args.rows), kThreads, 0, args, block_size,
               blocks, keep, keep_stride);
}

void launch_select_groups(LaunchQueue& queue, const IndexArgs& args, const uint8_t* keep,
                          int keep_stride, int block_size, int top_k, int* list, int list_stride,
                          int* list_count) {
  if (args.rows == 0) return;
  launch_early(queue, groups_kernel, static_cast<unsigned>(args.rows), kThreads, 0, args, keep,
               keep_stride, block_size, top_k, list, list_stride, list_count);
}

}  // namespace rota
