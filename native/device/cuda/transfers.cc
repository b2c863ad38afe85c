// Small pieces through pinned memory, large ones as CUDA does them.
#include "device/cuda/transfers.cuh"

#include <cstring>

namespace rota {
namespace {

constexpr size_t kStagedBytes = size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<Transfers>> Transfers::open(CudaStream& stream) {
  std::unique_ptr<Transfers> transfers(new Transfers(stream));
  stream.use();
  void *up = nullptr, *down = nullptr;
  cudaError_t error = cudaMallocHost(&up, kStagedBytes);
  transfers->up_ = static_cast<uint8_t*>(up);
  if (error == cudaSuccess) error = cudaMallocHost(&down, kStagedBytes);
  transfers->down_ = static_cast<uint8_t*>(down);
  if (error == cudaSuccess) return transfers;
  cudaGetLastError();
  return Status(Code::kOutOfMemory,
                "pinned memory for transfers: cannot allocate " + std::to_string(kStagedBytes) +
                    " bytes: " + cuda_error_text(error, "cudaMallocHost", stream.index()));
}

Transfers::~Transfers() {
  if (up_ != nullptr) cudaFreeHost(up_);
  if (down_ != nullptr) cudaFreeHost(down_);
}

bool Transfers::wait() {
  used_ = 0;
  return CUDA_CHECK(stream_, cudaStreamSynchronize(stream_.use()));
}

void Transfers::upload(void* device, const void* host, size_t bytes) {
  if (bytes == 0) return;
  const cudaStream_t stream = stream_.use();
  if (bytes > kStagedBytes) {
    CUDA_CHECK(stream_, cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
    wait();  // from memory that is already pinned it would still be reading
    return;
  }
  if (used_ + bytes > kStagedBytes && !wait()) return;
  std::memcpy(up_ + used_, host, bytes);
  CUDA_CHECK(stream_, cudaMemcpyAsync(device, up_ + used_, bytes, cudaMemcpyHostToDevice, stream));
  used_ += bytes;
}

void Transfers::download(void* host, const void* device, size_t bytes) {
  if (bytes == 0) return;
  const cudaStream_t stream = stream_.use();
  if (bytes > kStagedBytes) {
    CUDA_CHECK(stream_, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
    wait();
    return;
  }
  CUDA_CHECK(stream_, cudaMemcpyAsync(down_, device, bytes, cudaMemcpyDeviceToHost, stream));
  if (wait()) {
    std::memcpy(host, down_, bytes);
  } else {
    std::memset(host, 0, bytes);  // ids that a caller may index with
  }
}

}  // namespace rota
