// Opening a GPU, its memory, and what is said when either fails.
#include "device/cuda/cuda_stream.cuh"

#include <algorithm>

namespace rota {
namespace {

Status no_device(const std::string& why) { return {Code::kLoad, "no CUDA device: " + why}; }

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// What to do about a driver that answers with an error.
Status explain(cudaError_t error) {
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  cudaGetLastError();
  if (driver == 0) {
    return no_device("there is no NVIDIA driver; install one, or use --device host");
  }
  if (error == cudaErrorInsufficientDriver) {
    return no_device("the NVIDIA driver is for CUDA " + version_text(driver) +
                     ", this build needs " + version_text(runtime) +
                     "; update the driver, or use --device host");
  }
  if (error == cudaErrorNoDevice) {
    return no_device(
        "the NVIDIA driver sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use "
        "--device host");
  }
  return no_device(std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error) +
                   "; look at nvidia-smi, or use --device host");
}

}  // namespace

std::string cuda_error_text(cudaError_t error, const char* expression, int index) {
  return std::string(expression) + " on cuda:" + std::to_string(index) + ": " +
         cudaGetErrorName(error) + ": " + cudaGetErrorString(error);
}

Result<std::unique_ptr<CudaStream>> CudaStream::open(int index) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    return explain(error);
  }
  if (index < 0 || index >= count) {
    return no_device("cuda:" + std::to_string(index) + " is not there; this machine has cuda:0" +
                     (count > 1 ? " to cuda:" + std::to_string(count - 1) : std::string(" alone")));
  }
  std::unique_ptr<CudaStream> stream(new CudaStream());
  stream->index_ = index;
  cudaDeviceProp properties;
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, index);
  if (error == cudaSuccess) {
    error = cudaStreamCreateWithFlags(&stream->stream_, cudaStreamNonBlocking);
  }
  if (error != cudaSuccess) return explain(error);
  stream->queue_.open(stream->stream_);
  stream->device_name_ = properties.name;
  stream->processors_ = properties.multiProcessorCount;
  // What cuda.cmake builds for: machine code of 8.9 and of 9.0 runs on its own generation alone.
  if (properties.major != 9 && (properties.major != 8 || properties.minor < 9)) {
    return no_device("cuda:" + std::to_string(index) + " (" + stream->device_name_ +
                     ") has compute capability " + std::to_string(properties.major) + "." +
                     std::to_string(properties.minor) +
                     ", this build needs 8.9 or 9.0; use --device host");
  }
  return stream;
}

CudaStream::~CudaStream() {
  if (stream_ == nullptr) return;
  cudaStreamSynchronize(use());
  cudaStreamDestroy(stream_);
}

bool CudaStream::note(cudaError_t error, const char* expression) {
  if (error == cudaSuccess) return true;
  if (status_.ok()) status_ = Status(Code::kIo, cuda_error_text(error, expression, index_));
  return false;
}

Status CudaStream::wait() {
  CUDA_CHECK(*this, cudaStreamSynchronize(use()));
  return status_;
}

Result<void*> CudaStream::allocate(size_t bytes, const char* what) {
  if (!status_.ok()) return status_;
  const cudaStream_t stream = use();
  void* memory = nullptr;
  const size_t rounded = (std::max<size_t>(bytes, 1) + 255) / 256 * 256;
  if (const cudaError_t error = cudaMalloc(&memory, rounded); error != cudaSuccess) {
    cudaGetLastError();  // a refusal is no failure of the device
    if (error != cudaErrorMemoryAllocation) {
      note(error, "cudaMalloc");
      return status_;
    }
    size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    return Status(Code::kOutOfMemory,
                  std::string(what) + ": cannot allocate " + std::to_string(bytes) +
                      " bytes of memory on cuda:" + std::to_string(index_) + " (" + device_name_ +
                      "), which has " + std::to_string(free_bytes) + " of " +
                      std::to_string(total) + " bytes free");
  }
  if (!CUDA_CHECK(*this, cudaMemsetAsync(memory, 0, rounded, stream))) return status_;
  return memory;
}

Result<void*> CudaStream::allocate_pinned(size_t bytes, const char* what) {
  make_current();
  void* memory = nullptr;
  if (const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocMapped);
      error != cudaSuccess) {
    cudaGetLastError();  // a refusal is no failure of the device
    return Status(Code::kOutOfMemory, std::string(what) + ": cannot allocate " +
                                          std::to_string(bytes) + " bytes of pinned memory: " +
                                          cuda_error_text(error, "cudaHostAlloc", index_));
  }
  return memory;
}

void CudaStream::release(void* address) {
  if (address == nullptr) return;
  // Waits for what still reads it.
  CUDA_CHECK(*this, cudaStreamSynchronize(use()));
  CUDA_CHECK(*this, cudaFree(address));
}

}  // namespace rota
