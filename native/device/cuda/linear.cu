// The choice of a kernel, and the plain one for what is read rarely or in odd shapes: a weight a
// lane, decoded where it lies.
#include "device/cuda/linear.cuh"

#include <algorithm>

#include "device/cuda/early_launch.cuh"
#include "device/cuda/linear_words.cuh"
#include "device/cuda/matrix_layout.cuh"
#include "device/cuda/reduce.cuh"
#include "device/cuda/weight_at.cuh"

namespace rota {
namespace {

// Where weight i of a row lies in a matrix in groups: the inverse of matrix_layout.cuh's order.
__device__ float grouped_weight(Format format, const uint8_t* row, size_t i) {
  const size_t scale_bytes = format == Format::kQ8_0 ? 2 : 1;
  const uint8_t* group = row + i / kGroupWeights * (kGroupWeights + 8 * scale_bytes);
  const size_t w = i % kGroupWeights, q = w / 64, lane = w % 64 / 4;
  const uint8_t code = group[16 * lane + 4 * q + w % 4];
  const uint8_t* scale = group + kGroupWeights + (4 * (lane / 8) + q) * scale_bytes;
  if (format == Format::kQ8_0) {
    return gpu::fp16_to_float(gpu::half_at(scale)) * static_cast<float>(static_cast<int8_t>(code));
  }
  return gpu::e8m0_to_float(*scale) * gpu::e4m3_to_float(code);
}

struct WeightReader {
  Format format;
  bool grouped;
  __device__ float operator()(const uint8_t* row, size_t i) const {
    return grouped ? grouped_weight(format, row, i) : gpu::weight_at(format, row, i);
  }
};

WeightReader reader_of(const Matrix& w) { return {w.format, w.layout == MatrixLayout::kGrouped}; }

// A warp an output, a row after the other.
__global__ void plain_kernel(WeightReader weight, LinearArgs args) {
  take_turn();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int output =
      static_cast<int>(blockIdx.x) * kLinearWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (output >= args.out) return;
  const uint8_t* w = args.w + static_cast<size_t>(output) * args.row_bytes;
  const size_t n = static_cast<size_t>(args.in);
  const float* x = args.x + static_cast<size_t>(output / args.outputs_a_group) * n;
  for (int r = 0; r < args.rows; ++r, x += args.x_stride) {
    float sum = 0;
    for (size_t i = static_cast<size_t>(lane); i < n; i += kWarp) {
      sum = fmaf(weight(w, i), x[i], sum);
    }
    sum = warp_sum(sum);
    if (lane == 0) {
      args.y[static_cast<size_t>(r) * static_cast<size_t>(args.out) + static_cast<size_t>(output)] =
          sum;
    }
  }
}

void launch_plain(LaunchQueue& queue, const Matrix& w, const LinearArgs& args) {
  const auto blocks = static_cast<unsigned>((args.out + kLinearWarps - 1) / kLinearWarps);
  launch_early(queue, plain_kernel, blocks, kLinearWarps * kWarp, 0, reader_of(w), args);
}

// Token ids travel as a kernel's arguments: no memory, and no copy to wait for.
constexpr int kIdsAtOnce = 256;
struct Ids {
  int id[kIdsAtOnce];
};

__global__ void gather_kernel(WeightReader weight, const uint8_t* table, size_t row_bytes, int n,
                              Ids ids, float* y) {
  take_turn();
  const uint8_t* row = table + static_cast<size_t>(ids.id[blockIdx.x]) * row_bytes;
  const size_t out = static_cast<size_t>(blockIdx.x) * static_cast<size_t>(n);
  const int i = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  if (i >= n) return;
  y[out + static_cast<size_t>(i)] = weight(row, static_cast<size_t>(i));
}

bool aligned(const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; }

struct Product {
  LinearArgs args;
  bool in_words;  // four weights and four of x at once
  bool in_tiles;  // of the tensor cores
};

Product product_of(const Matrix& w, int groups, const float* x, int rows, float* y) {
  LinearArgs args;
  args.w = w.data.address();
  args.row_bytes = w.bytes / static_cast<size_t>(w.out);
  args.in = w.in, args.out = w.out;
  args.x = x;
  args.x_stride = static_cast<unsigned>(w.in) * static_cast<unsigned>(groups);
  args.outputs_a_group =
      groups > 1 ? w.out / groups : (w.out + kTensorOutputs - 1) / kTensorOutputs * kTensorOutputs;
  args.rows = rows;
  args.y = y;
  const bool in_words = w.in % 4 == 0 && aligned(x) && aligned(args.w);
  const bool in_tiles =
      in_words && w.layout == MatrixLayout::kGrouped && args.outputs_a_group % kTensorOutputs == 0;
  args.slices = in_tiles ? tensor_slices(w.in, w.out) : linear_slices(w.in, w.out);
  return {args, in_words, in_tiles};
}

void launch_in_tiles(LaunchQueue& queue, Format format, const LinearArgs& first,
                     const LinearArgs* second) {
  if (format == Format::kQ8_0) return launch_linear_q8_0(queue, first, second);
  launch_linear_mxfp8(queue, first, second);
}

__global__ void gather_listed_kernel(WeightReader weight, const uint8_t* table, size_t row_bytes,
                                     int n, const int* ids, float* y) {
  take_turn();
  const uint8_t* row = table + static_cast<size_t>(ids[blockIdx.x]) * row_bytes;
  const int i = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  if (i >= n) return;
  y[static_cast<size_t>(blockIdx.x) * static_cast<size_t>(n) + static_cast<size_t>(i)] =
      weight(row, static_cast<size_t>(i));
}

constexpr int kGatherThreads = 256;

dim3 gather_blocks(int rows, int in) {
  return {static_cast<unsigned>(rows),
          static_cast<unsigned>((in + kGatherThreads - 1) / kGatherThreads)};
}

}  // namespace

void launch_linear(LaunchQueue& queue, const Matrix& w, int groups, const float* x, int rows,
                   float* y) {
  if (rows == 0 || w.out == 0) return;
  const Product product = product_of(w, groups, x, rows, y);
  if (product.in_tiles) return launch_in_tiles(queue, w.format, product.args, nullptr);
  const bool in_words = product.in_words;
  if (in_words && w.format == Format::kF32) return launch_linear_f32(queue, product.args);
  if (in_words && w.format == Format::kF16) return launch_linear_f16(queue, product.args);
  if (in_words && w.format == Format::kBF16) return launch_linear_bf16(queue, product.args);
  launch_plain(queue, w, product.args);
}

void launch_linear_pair(LaunchQueue& queue, const Matrix& first, const Matrix& second,
                        const float* x, int rows, float* y_first, float* y_second) {
  if (rows > 0 && first.out > 0 && second.out > 0 && first.format == second.format) {
    const Product one = product_of(first, 1, x, rows, y_first),
                  other = product_of(second, 1, x, rows, y_second);
    if (one.in_tiles && other.in_tiles) {
      return launch_in_tiles(queue, first.format, one.args, &other.args);
    }
  }
  launch_linear(queue, first, 1, x, rows, y_first);
  launch_linear(queue, second, 1, x, rows, y_second);
}

void launch_gather_listed(LaunchQueue& queue, const Matrix& table, const int* ids, int n,
                          float* y) {
  if (n == 0) return;
  launch_early(queue, gather_listed_kernel, gather_blocks(n, table.in), kGatherThreads, 0,
               reader_of(table), table.data.address(), table.bytes / static_cast<size_t>(table.out),
               table.in, ids, y);
}

void launch_gather(LaunchQueue& queue, const Matrix& table, const int* ids, int n, float* y) {
  const size_t row_bytes = table.bytes / static_cast<size_t>(table.out);
  for (int done = 0; done < n; done += kIdsAtOnce) {
    const int count = std::min(kIdsAtOnce, n - done);
    Ids some;
    std::copy_n(ids + done, count, some.id);
    launch_early(queue, gather_kernel, gather_blocks(count, table.in), kGatherThreads, 0,
                 reader_of(table), table.data.address(), row_bytes, table.in, some,
                 y + static_cast<size_t>(done) * static_cast<size_t>(table.in));
  }
}

}  // namespace rota
