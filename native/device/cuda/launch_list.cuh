// Launches as data: kernels and their parameters, in the order of a stream. Owns the copies of the
// parameters; knows no kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstring>
#include <type_traits>
#include <vector>

namespace rota {

// Whether the calling thread's GPU lets a kernel's blocks take their places while the kernel ahead
// still runs (early_launch.cuh).
bool launches_early();

struct Launch {
  const void* kernel = nullptr;
  dim3 blocks;
  unsigned threads = 0;
  size_t shared = 0;  // bytes
  // Of the list's parameters and of their bytes.
  size_t first_parameter = 0, parameters = 0, first_byte = 0, bytes = 0;
};

class LaunchList {
 public:
  template <typename... Params>
  void add(void (*kernel)(Params...), dim3 blocks, unsigned threads, size_t shared,
           const Params&... parameters) {
    bytes_.resize((bytes_.size() + kAligned - 1) / kAligned * kAligned);
    launches_.push_back({reinterpret_cast<const void*>(kernel), blocks, threads, shared,
                         offsets_.size(), sizeof...(Params), bytes_.size(), 0});
    (keep(parameters), ...);
    launches_.back().bytes = bytes_.size() - launches_.back().first_byte;
  }
  void clear();

  size_t size() const { return launches_.size(); }
  const Launch& operator[](size_t i) const { return launches_[i]; }
  // Where launch i's parameters lie, until the list changes or this is called again.
  void** parameters(size_t i);
  // Whether launch i is of the same kernel here and there; whether all else of it is the same too.
  bool same_kernel(size_t i, const LaunchList& other) const;
  bool same_launch(size_t i, const LaunchList& other) const;
  // Makes launch i, of the same kernel, that of the other list.
  void take(size_t i, const LaunchList& other);

  // Puts launch i, or all, on a stream of the calling thread's GPU.
  cudaError_t launch(size_t i, cudaStream_t stream);
  cudaError_t launch_each(cudaStream_t stream);

 private:
  static constexpr size_t kAligned = 16;  // a launch's first byte

  template <typename T>
  void keep(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAligned);
    const size_t at = (bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    offsets_.push_back(at - launches_.back().first_byte);
  }

  std::vector<Launch> launches_;
  std::vector<size_t> offsets_;  // of parameters, from their launch's first byte
  std::vector<unsigned char> bytes_;
  std::vector<void*> addresses_;
};

}  // namespace rota
