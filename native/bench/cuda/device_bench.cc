// Graphs of launches, timed by events on the GPU's own clock.
#include "bench/cuda/device_bench.h"

#include <algorithm>
#include <functional>

#include "bench/spread.h"
#include "device/cuda/cuda_stream.cuh"
#include "device/cuda/device_copy.cuh"
#include "device/cuda/linear.cuh"
#include "device/cuda/matrix_layout.cuh"
#include "formats/random_blocks.h"

namespace rota {
namespace {

// Of DeepSeek-V4.1-Flash's dense half: the queries' second projection, the attention's output, the
// shared expert's gate.
struct Shape {
  int out, in;
};
constexpr Shape kShapes[] = {{32768, 1280}, {5120, 8192}, {2304, 5120}};

class DeviceBench {
 public:
  explicit DeviceBench(CudaStream& stream) : stream_(stream) {
    CUDA_CHECK(stream_, cudaEventCreate(&start_));
    CUDA_CHECK(stream_, cudaEventCreate(&end_));
  }
  ~DeviceBench() {
    for (void* address : addresses_) stream_.release(address);
    cudaEventDestroy(start_);
    cudaEventDestroy(end_);
  }
  DeviceBench(const DeviceBench&) = delete;
  DeviceBench& operator=(const DeviceBench&) = delete;

  Result<uint8_t*> take(uint64_t bytes) {
    ROTA_ASSIGN_OR_RETURN(void* memory, stream_.allocate(bytes, "benchmark"));
    addresses_.push_back(memory);
    return static_cast<uint8_t*>(memory);
  }

  // Median seconds of a graph of what `launch` puts on the stream; the first round only warms up.
  Result<double> seconds(int rounds, const std::function<void()>& launch) {
    const cudaStream_t stream = stream_.use();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    CUDA_CHECK(stream_, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch();
    CUDA_CHECK(stream_, cudaStreamEndCapture(stream, &graph));
    if (!CUDA_CHECK(stream_, cudaGraphInstantiate(&runnable, graph, 0))) return stream_.status();
    std::vector<double> all;
    for (int round = 0; round <= rounds && stream_.status().ok(); ++round) {
      float milliseconds = 0;
      CUDA_CHECK(stream_, cudaEventRecord(start_, stream));
      CUDA_CHECK(stream_, cudaGraphLaunch(runnable, stream));
      CUDA_CHECK(stream_, cudaEventRecord(end_, stream));
      CUDA_CHECK(stream_, cudaEventSynchronize(end_));
      CUDA_CHECK(stream_, cudaEventElapsedTime(&milliseconds, start_, end_));
      if (round > 0) all.push_back(milliseconds * 1e-3);
    }
    CUDA_CHECK(stream_, cudaGraphExecDestroy(runnable));
    CUDA_CHECK(stream_, cudaGraphDestroy(graph));
    ROTA_RETURN_IF_ERROR(stream_.wait());
    return spread_of(all).median;
  }

  CudaStream& stream() { return stream_; }

 private:
  CudaStream& stream_;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
  std::vector<void*> addresses_;
};

// Of half of the memory to the other: no cache holds it. The first ones bring an idle GPU to its
// clock.
Result<double> copy_speed(DeviceBench& bench, uint8_t* memory, uint64_t bytes, int rounds) {
  std::vector<double> all;
  for (int round = 0; round <= rounds; ++round) {
    ROTA_ASSIGN_OR_RETURN(const double speed,
                          copy_bytes_per_s(bench.stream(), memory, memory + bytes / 2, bytes / 2));
    if (round > 0) all.push_back(speed);
  }
  return spread_of(all).median;
}

// As many copies of one random matrix as fill the bytes, each where the next product finds it.
Result<std::vector<Matrix>> matrices(DeviceBench& bench, Format format, const Shape& shape,
                                     uint8_t* memory, uint64_t bytes) {
  ROTA_ASSIGN_OR_RETURN(const size_t row, row_bytes(format, static_cast<uint64_t>(shape.in)));
  const size_t size = row * static_cast<size_t>(shape.out);
  const size_t step = (size + 255) / 256 * 256, count = std::max<size_t>(1, bytes / step);
  std::vector<uint8_t> blocks(size);
  random_blocks(format, 1, blocks.data(), size);
  CudaStream& stream = bench.stream();
  CUDA_CHECK(stream,
             cudaMemcpyAsync(memory, blocks.data(), size, cudaMemcpyHostToDevice, stream.use()));
  Matrix first{format, shape.out, shape.in, DevPtr<const uint8_t>(memory), size};
  if (can_group(first)) {
    launch_group(stream.use(), first);
    first.layout = MatrixLayout::kGrouped;
  }
  std::vector<Matrix> all(count, first);
  for (size_t i = 1; i < count; ++i) {
    all[i].data = first.data + i * step;
    CUDA_CHECK(stream, cudaMemcpyAsync(memory + i * step, memory, size, cudaMemcpyDeviceToDevice,
                                       stream.use()));
  }
  ROTA_RETURN_IF_ERROR(stream.wait());
  return all;
}

}  // namespace

Result<DeviceBenchResult> run_device_bench(const DeviceBenchOptions& options) {
  ROTA_ASSIGN_OR_RETURN(const std::unique_ptr<CudaStream> stream, CudaStream::open(options.index));
  DeviceBench bench(*stream);
  DeviceBenchResult result;
  result.device = "cuda:" + std::to_string(options.index) + " " + stream->device_name();
  const uint64_t bytes = std::max<uint64_t>(options.rotated_bytes, 2ull << 30);
  const auto most_rows =
      static_cast<size_t>(*std::max_element(options.rows.begin(), options.rows.end()));
  ROTA_ASSIGN_OR_RETURN(uint8_t* memory, bench.take(bytes));
  ROTA_ASSIGN_OR_RETURN(uint8_t* x, bench.take(most_rows * 8192 * sizeof(float)));
  ROTA_ASSIGN_OR_RETURN(uint8_t* y, bench.take(most_rows * 32768 * sizeof(float)));
  const auto* in = static_cast<const float*>(static_cast<const void*>(x));
  auto* out = static_cast<float*>(static_cast<void*>(y));
  ROTA_ASSIGN_OR_RETURN(result.copy_bytes_per_s, copy_speed(bench, memory, bytes, options.rounds));
  for (const Format format : options.formats) {
    for (const Shape& shape : kShapes) {
      ROTA_ASSIGN_OR_RETURN(const std::vector<Matrix> all,
                            matrices(bench, format, shape, memory, options.rotated_bytes));
      for (const int rows : options.rows) {
        ROTA_ASSIGN_OR_RETURN(const double seconds, bench.seconds(options.rounds, [&] {
          for (const Matrix& w : all) {
            launch_linear(stream->queue(), w, 1, in, rows, out);
          }
        }));
        const double each = seconds / static_cast<double>(all.size());
        result.cells.push_back(
            {format, shape.out, shape.in, rows, each, static_cast<double>(all[0].bytes) / each});
      }
    }
  }
  return result;
}

}  // namespace rota
