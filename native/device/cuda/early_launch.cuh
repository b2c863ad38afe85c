// Launches of one stream that overlap: a kernel's blocks take their places while the kernel ahead
// of it still runs, and wait before they touch what that one writes. Owns the two halves of that
// agreement. The GPU generation before 9.0 has no such thing and runs one kernel after the other.
#pragma once

#include "device/cuda/launch_queue.cuh"

namespace rota {

// THE AGREEMENT. Every thread of a kernel that is launched early calls wait_for_the_kernel_before()
// ahead of its first access to memory that a kernel writes, also when it has nothing to do: that a
// kernel has ended then says that all before it have. What nobody writes any more (weights) may be
// read earlier. let_the_next_begin() only says that the next kernel's blocks may come in, not that
// anything is done: it goes first.
__device__ __forceinline__ void wait_for_the_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_the_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// For kernels that read nothing ahead.
__device__ __forceinline__ void take_turn() {
  let_the_next_begin();
  wait_for_the_kernel_before();
}

// kernel<<<blocks, threads, shared>>>(args...) behind what was asked of the queue's stream before.
// Failures are the queue's.
template <typename... Params, typename... Args>
void launch_early(LaunchQueue& queue, void (*kernel)(Params...), dim3 blocks, int threads,
                  size_t shared, Args... args) {
  queue.add(kernel, blocks, static_cast<unsigned>(threads), shared, static_cast<Params>(args)...);
}

}  // namespace rota
