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
  if (error == cudaSuccess) {
    CUDA_CHECK(stream, cudaEventCreateWithFlags(&transfers->arrived_, cudaEventDisableTiming));
    if (!stream.status().ok()) return stream.status();
    return transfers;
  }
  cudaGetLastError();
  return Status(Code::kOutOfMemory,
                "pinned memory for transfers: cannot allocate " + std::to_string(kStagedBytes) +
                    " bytes: " + cuda_error_text(error, "cudaMallocHost", stream.index()));
}

Transfers::~Transfers() {
  if (up_ != nullptr) cudaFreeHost(up_);
  if (down_ != nullptr) cudaFreeHost(down_);
  if (arrived_ != nullptr) cudaEventDestroy(arrived_);
}

bool Transfers::wait() {
  used_ = used_then_ = 0;
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

void Transfers::begin_download(void* host, const void* device, size_t bytes) {
  if (bytes == 0) return;
  const cudaStream_t stream = stream_.use();
  if (bytes > kStagedBytes) {
    CUDA_CHECK(stream_, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
    wait();
    return;
  }
  if (down_used_ + bytes > kStagedBytes) finish_downloads();
  CUDA_CHECK(stream_,
             cudaMemcpyAsync(down_ + down_used_, device, bytes, cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(stream_, cudaEventRecord(arrived_, stream));
  coming_.push_back({host, down_used_, bytes});
  down_used_ += bytes;
  used_then_ = used_;
}

void Transfers::finish_downloads() {
  if (coming_.empty()) return;
  stream_.use();
  CUDA_CHECK(stream_, cudaEventSynchronize(arrived_));
  const bool went_well = stream_.status().ok();
  if (used_ == used_then_) used_ = 0;
  for (const Piece& piece : coming_) {
    if (went_well) {
      std::memcpy(piece.host, down_ + piece.offset, piece.bytes);
    } else {
      std::memset(piece.host, 0, piece.bytes);  // ids that a caller may index with
    }
  }
  coming_.clear();
  down_used_ = 0;
}

}  // namespace rota
