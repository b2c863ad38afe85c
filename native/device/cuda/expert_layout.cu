// A block of threads takes a strip to shared memory and writes it back in the other order.
#include "device/cuda/expert_layout.cuh"

namespace rota {
namespace {

constexpr int kThreads = 512;
constexpr int kMostStripBytes = 99 << 10;  // of shared memory a block has on every such GPU

template <Format kFormat, bool kBack>
__global__ void __launch_bounds__(kThreads) order_kernel(uint8_t* matrix, int strip_bytes) {
  using Order = ChunkOrder<kFormat>;
  extern __shared__ uint4 held[];
  const auto* bytes = reinterpret_cast<const uint8_t*>(held);
  const auto* words = reinterpret_cast<const uint32_t*>(held);
  uint8_t* strip = matrix + static_cast<size_t>(blockIdx.x) * static_cast<size_t>(strip_bytes);
  for (int i = static_cast<int>(threadIdx.x); i < strip_bytes / 16; i += kThreads) {
    held[i] = reinterpret_cast<const uint4*>(strip)[i];
  }
  __syncthreads();
  const int row_bytes = strip_bytes / 16;
  for (int i = static_cast<int>(threadIdx.x); i < strip_bytes / 4; i += kThreads) {
    const int chunk = 4 * i / (16 * Order::kRowBytes), at = 4 * i % (16 * Order::kRowBytes);
    const auto place = [&](int byte) {
      const ChunkByte from = Order::from(at + byte);
      return from.row * row_bytes + chunk * Order::kRowBytes + from.byte;
    };
    uint32_t word = 0;
    if (kBack) {
      word = words[i];
      if (at < Order::kTurned) word = turned_word<kFormat>(word);
      for (int b = 0; b < 4; ++b) strip[place(b)] = static_cast<uint8_t>(word >> (8 * b));
    } else {
      for (int b = 0; b < 4; ++b) word |= static_cast<uint32_t>(bytes[place(b)]) << (8 * b);
      if (at < Order::kTurned) word = turned_word<kFormat>(word);
      reinterpret_cast<uint32_t*>(strip)[i] = word;
    }
  }
}

template <bool kBack>
cudaError_t launch_order(cudaStream_t stream, const BlobMatrix& m) {
  if (!is_laid_out(m.format, m.out, m.in)) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  with_order(m.format, [&](auto order) {
    const int strip_bytes = 16 * m.in / kChunk * decltype(order)::kRowBytes;
    const auto launch = [&]<Format kFormat>(ChunkOrder<kFormat>) {
      const auto kernel = order_kernel<kFormat, kBack>;
      error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   kMostStripBytes);
      if (error != cudaSuccess) return;
      kernel<<<static_cast<unsigned>(m.out / 16), kThreads, static_cast<size_t>(strip_bytes),
               stream>>>(m.data, strip_bytes);
      error = cudaGetLastError();
    };
    launch(order);
  });
  return error;
}

}  // namespace

bool is_laid_out(Format format, int out, int in) {
  if (out % 16 != 0 || in % kChunk != 0) return false;
  bool fits = false;
  with_order(format, [&](auto order) {
    fits = 16 * in / kChunk * decltype(order)::kRowBytes <= kMostStripBytes;
  });
  return fits;
}

cudaError_t lay_out(cudaStream_t stream, const BlobMatrix& matrix) {
  return launch_order<false>(stream, matrix);
}
cudaError_t take_out(cudaStream_t stream, const BlobMatrix& matrix) {
  return launch_order<true>(stream, matrix);
}

}  // namespace rota
