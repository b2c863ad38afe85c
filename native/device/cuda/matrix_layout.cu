// One warp takes a group into registers and shared memory, and puts it back in its order.
#include "device/cuda/matrix_layout.cuh"

#include "device/cuda/reduce.cuh"

namespace rota {
namespace {

constexpr int kWarpsABlock = 8, kBlocksAGroup = 8, kMostGroupBytes = 272;

// Where byte `at` of a group comes from. scale_bytes: of a block, before its 32 codes.
__device__ int source_of(int at, int scale_bytes) {
  const int block_bytes = scale_bytes + 32;
  if (at < kGroupWeights) {
    const int lane = at / 16, q = at % 16 / 4, i = at % 4, weight = 64 * q + 4 * lane + i;
    return weight / 32 * block_bytes + scale_bytes + weight % 32;
  }
  const int scale = (at - kGroupWeights) / scale_bytes, byte = (at - kGroupWeights) % scale_bytes;
  const int block = 2 * (scale % 4) + scale / 4;
  return block * block_bytes + byte;
}

__global__ void group_kernel(uint8_t* data, size_t groups, int scale_bytes) {
  __shared__ uint8_t held[kWarpsABlock][kMostGroupBytes];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const size_t group = static_cast<size_t>(blockIdx.x) * kWarpsABlock + threadIdx.x / kWarp;
  if (group >= groups) return;
  const int bytes = kGroupWeights + kBlocksAGroup * scale_bytes;
  uint8_t* at = data + group * static_cast<size_t>(bytes);
  uint8_t* mine = held[threadIdx.x / kWarp];
  for (int i = lane; i < bytes; i += kWarp) mine[i] = at[i];
  __syncwarp();
  for (int i = lane; i < bytes; i += kWarp) at[i] = mine[source_of(i, scale_bytes)];
}

}  // namespace

bool can_group(const Matrix& w) {
  return (w.format == Format::kQ8_0 || w.format == Format::kMXFP8) && w.in % kGroupWeights == 0;
}

void launch_group(cudaStream_t stream, const Matrix& w) {
  const size_t groups = static_cast<size_t>(w.out) * static_cast<size_t>(w.in / kGroupWeights);
  const auto blocks = static_cast<unsigned>((groups + kWarpsABlock - 1) / kWarpsABlock);
  group_kernel<<<blocks, kWarpsABlock * kWarp, 0, stream>>>(
      const_cast<uint8_t*>(w.data.address()), groups, w.format == Format::kQ8_0 ? 2 : 1);
}

}  // namespace rota
