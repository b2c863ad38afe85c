// Small pieces through pinned memory, large ones as CUDA does them.
#include "device/cuda/transfers.cuh"

#include <cstring>

namespace rota {
namespace {

constexpr size_t kStagedBytes = size_t{1} << 20;
constexpr size_t kPiece = 16;  // what pieces begin at multiples of

}  // namespace

Result<std::unique_ptr<Transfers>> Transfers::open(CudaStream& stream) {
  std::unique_ptr<Transfers> transfers(new Transfers(stream));
  ROTA_ASSIGN_OR_RETURN(transfers->down_,
                        Landing::open(stream, kStagedBytes, "memory for transfers"));
  ROTA_ASSIGN_OR_RETURN(void* up, stream.allocate_pinned(kStagedBytes, "memory for transfers"));
  transfers->up_ = static_cast<uint8_t*>(up);
  return transfers;
}

Transfers::~Transfers() {
  if (up_ != nullptr) cudaFreeHost(up_);
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
  if (bytes > kStagedBytes) {
    CUDA_CHECK(stream_,
               cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_.use()));
    wait();
    return;
  }
  if (down_used_ + bytes > kStagedBytes) finish_downloads();
  down_->send(device, down_used_, bytes);
  coming_.push_back({host, down_used_, bytes});
  down_used_ += (bytes + kPiece - 1) / kPiece * kPiece;
  used_then_ = used_;
}

void Transfers::finish_downloads() {
  if (coming_.empty()) return;
  const bool went_well = down_->wait();
  if (used_ == used_then_) used_ = 0;
  for (const Piece& piece : coming_) {
    if (went_well) {
      std::memcpy(piece.host, down_->memory() + piece.offset, piece.bytes);
    } else {
      std::memset(piece.host, 0, piece.bytes);  // ids that a caller may index with
    }
  }
  coming_.clear();
  down_used_ = 0;
}

}  // namespace rota
