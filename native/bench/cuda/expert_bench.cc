// Windows of a captured graph of layer calls and of a copy, in turn, timed by the device's events.
#include "bench/cuda/expert_bench.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "device/cuda/device_copy.cuh"
#include "device/cuda/expert_kernels.cuh"

namespace rota {
namespace {

class DeviceMemory {
 public:
  static Result<DeviceMemory> take(CudaStream& stream, size_t bytes, const char* what) {
    ROTA_ASSIGN_OR_RETURN(void* at, stream.allocate(bytes, what));
    return DeviceMemory(stream, at, bytes);
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : stream_(other.stream_), at_(other.at_), bytes_(other.bytes_) {
    other.at_ = nullptr;
  }
  ~DeviceMemory() { stream_->release(at_); }
  uint8_t* bytes() { return static_cast<uint8_t*>(at_); }
  float* floats() { return static_cast<float*>(at_); }
  size_t size() const { return bytes_; }

 private:
  DeviceMemory(CudaStream& stream, void* at, size_t bytes)
      : stream_(&stream), at_(at), bytes_(bytes) {}
  CudaStream* stream_;
  void* at_;
  size_t bytes_;
};

class Bench {
 public:
  Bench(const ExpertBenchOptions& options, CudaStream& stream, DeviceMemory blobs,
        DeviceMemory copy, DeviceMemory x, DeviceMemory y)
      : options_(options),
        stream_(stream),
        blobs_(std::move(blobs)),
        copy_(std::move(copy)),
        x_(std::move(x)),
        y_(std::move(y)) {
    stream_.use();
    CUDA_CHECK(stream_, cudaEventCreate(&begin_));
    CUDA_CHECK(stream_, cudaEventCreate(&end_));
  }
  ~Bench() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  // Seconds on the device of what `work` puts on the stream.
  template <typename Work>
  Result<double> seconds(const Work& work) {
    CUDA_CHECK(stream_, cudaEventRecord(begin_, stream_.use()));
    work();
    CUDA_CHECK(stream_, cudaEventRecord(end_, stream_.use()));
    ROTA_RETURN_IF_ERROR(stream_.wait());
    float ms = 0;
    CUDA_CHECK(stream_, cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e-3;
  }

  // Of all of the blobs' memory.
  Result<double> copy_rate() {
    return copy_bytes_per_s(stream_, blobs_.bytes(), copy_.bytes(), blobs_.size());
  }

  Status prepare(const RandomBlobs& blobs) {
    layout_ = &blobs.layout();
    count_ = blobs.count();
    stride_ = static_cast<size_t>(blobs.blob(1) - blobs.blob(0));
    CUDA_CHECK(stream_, cudaMemcpyAsync(blobs_.bytes(), blobs.blob(0), stride_ * count_,
                                        cudaMemcpyHostToDevice, stream_.use()));
    ROTA_ASSIGN_OR_RETURN(const auto kernels, ExpertKernels::create(stream_, shape(1)));
    for (size_t i = 0; i < count_; ++i) {
      uint8_t* at = blobs_.bytes() + i * stride_;
      kernels->lay_out(stream_.use(), at, job(at));
    }
    return stream_.wait();
  }

  // Rates of the format in place, one a round.
  Result<std::vector<double>> rates(int rows, std::vector<double>& copies);
  int calls() const { return static_cast<int>(count_) / options_.experts; }

 private:
  CudaExpertShape shape(int rows) const {
    return {options_.shape.dim, options_.shape.moe_inter, rows, options_.experts, 10.f, false};
  }
  CudaExpertJob job(const uint8_t* blob) const {
    return {
        blob, layout_->gate, layout_->up, layout_->down, layout_->up_offset, layout_->down_offset,
        {}};
  }
  void put_calls(ExpertKernels& kernels, int rows);
  Status check_answers(int rows);

  const ExpertBenchOptions& options_;
  CudaStream& stream_;
  DeviceMemory blobs_, copy_, x_, y_;
  const BlobLayout* layout_ = nullptr;
  size_t count_ = 0, stride_ = 0;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// As many calls as there are blobs for, each of other experts.
void Bench::put_calls(ExpertKernels& kernels, int rows) {
  const int n = options_.experts;
  std::vector<std::vector<int>> pairs(static_cast<size_t>(n));
  for (int k = 0; k < n; ++k) {
    for (int r = 0; r < rows; ++r) pairs[static_cast<size_t>(k)].push_back(r * n + k);
  }
  const std::vector<float> weights(static_cast<size_t>(rows * n), 1.f / static_cast<float>(n));
  for (int call = 0; call < calls(); ++call) {
    std::vector<CudaExpertJob> jobs;
    for (int k = 0; k < n; ++k) {
      jobs.push_back(job(blobs_.bytes() + static_cast<size_t>(call * n + k) * stride_));
      jobs.back().pairs = pairs[static_cast<size_t>(k)];
    }
    kernels.begin(x_.floats(), rows);
    kernels.compute(jobs, weights.data());
    kernels.finish(rows, y_.floats());
  }
}

// A rate of wrong answers is no rate.
Status Bench::check_answers(int rows) {
  std::vector<float> y(static_cast<size_t>(rows * options_.shape.dim));
  CUDA_CHECK(stream_, cudaMemcpyAsync(y.data(), y_.floats(), y.size() * sizeof(float),
                                      cudaMemcpyDeviceToHost, stream_.use()));
  ROTA_RETURN_IF_ERROR(stream_.wait());
  const bool numbers =
      std::all_of(y.begin(), y.end(), [](float v) { return std::isfinite(v) && v != 0.f; });
  if (numbers) return Status();
  return Status(Code::kLoad, std::string(format_info(layout_->gate).name) +
                                 ": the experts' answer is not made of numbers");
}

Result<std::vector<double>> Bench::rates(int rows, std::vector<double>& copies) {
  ROTA_ASSIGN_OR_RETURN(const auto kernels, ExpertKernels::create(stream_, shape(rows)));
  put_calls(*kernels, rows);
  ROTA_RETURN_IF_ERROR(check_answers(rows));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t calls_graph = nullptr;
  CUDA_CHECK(stream_, cudaStreamBeginCapture(stream_.use(), cudaStreamCaptureModeThreadLocal));
  put_calls(*kernels, rows);
  CUDA_CHECK(stream_, cudaStreamEndCapture(stream_.use(), &graph));
  CUDA_CHECK(stream_, cudaGraphInstantiate(&calls_graph, graph, 0));
  ROTA_RETURN_IF_ERROR(stream_.status());
  std::vector<double> rates;
  const double bytes =
      static_cast<double>(layout_->bytes) * static_cast<double>(calls() * options_.experts);
  const auto window = [&]() -> Result<double> {
    return seconds([&] { CUDA_CHECK(stream_, cudaGraphLaunch(calls_graph, stream_.use())); });
  };
  for (int round = 0; round < options_.rounds; ++round) {
    ROTA_ASSIGN_OR_RETURN(const double copy, copy_rate());
    copies.push_back(copy);
    ROTA_RETURN_IF_ERROR(window().status());  // nothing of the copy is left in a cache
    ROTA_ASSIGN_OR_RETURN(const double s, window());
    rates.push_back(bytes / s);
  }
  cudaGraphExecDestroy(calls_graph);
  cudaGraphDestroy(graph);
  return rates;
}

}  // namespace

Result<ExpertBenchResult> run_expert_bench(const ExpertBenchOptions& options,
                                           const ExpertBenchProgress& progress) {
  ROTA_ASSIGN_OR_RETURN(const auto stream, CudaStream::open(options.device));
  ROTA_ASSIGN_OR_RETURN(RandomBlobs blobs,
                        RandomBlobs::allocate(options.bytes, options.shape, false));
  ThreadPoolOptions pool;
  pool.name = "rota-bench";
  ThreadPool threads(pool);
  const int most = *std::max_element(options.rows.begin(), options.rows.end());
  const size_t row_bytes =
      static_cast<size_t>(most) * static_cast<size_t>(options.shape.dim) * sizeof(float);
  ROTA_ASSIGN_OR_RETURN(auto memory,
                        DeviceMemory::take(*stream, blobs.memory().size(), "experts (--gib)"));
  ROTA_ASSIGN_OR_RETURN(auto copy,
                        DeviceMemory::take(*stream, blobs.memory().size(), "a copy (--gib)"));
  ROTA_ASSIGN_OR_RETURN(auto x, DeviceMemory::take(*stream, row_bytes, "x"));
  ROTA_ASSIGN_OR_RETURN(auto y, DeviceMemory::take(*stream, row_bytes, "y"));
  std::vector<float> values(row_bytes / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(unit_double(splitmix64(options.seed + i)) * 2 - 1);
  }
  CUDA_CHECK(*stream, cudaMemcpyAsync(x.floats(), values.data(), row_bytes, cudaMemcpyHostToDevice,
                                      stream->use()));
  ROTA_RETURN_IF_ERROR(stream->wait());
  Bench bench(options, *stream, std::move(memory), std::move(copy), std::move(x), std::move(y));
  ExpertBenchResult result;
  result.device = stream->device_name();
  std::vector<double> copies;
  const int all = static_cast<int>(options.formats.size() * options.rows.size());
  int done = 0;
  for (const Format format : options.formats) {
    ROTA_RETURN_IF_ERROR(blobs.fill(format, options.seed, threads));
    if (blobs.count() < static_cast<size_t>(options.experts)) {
      return Status(Code::kUsage, std::string(format_info(format).name) + ": only " +
                                      std::to_string(blobs.count()) +
                                      " experts fit; raise --gib or lower --experts");
    }
    ROTA_RETURN_IF_ERROR(bench.prepare(blobs));
    for (const int rows : options.rows) {
      progress(done++, all, format, rows);
      ROTA_ASSIGN_OR_RETURN(const auto rates, bench.rates(rows, copies));
      ExpertBenchLine line{
          format, rows, blobs.count(), blobs.layout().bytes, bench.calls(), spread_of(rates)};
      line.call_us =
          1e6 * static_cast<double>(line.blob_bytes) * options.experts / line.bytes_per_s.median;
      result.lines.push_back(line);
    }
  }
  result.copy_bytes_per_s = spread_of(copies);
  return result;
}

}  // namespace rota
