// Copies from memory to shared memory that a thread does not wait for, and loads of what they have
// brought. Loads stay in their order with the copies, as all volatile assembly does. Device code
// alone.
#pragma once

#include <cstdint>

namespace rota {

// An address in shared memory, as its loads take it.
using Shared = uint32_t;

__device__ __forceinline__ Shared shared_address(const void* at) {
  return static_cast<Shared>(__cvta_generic_to_shared(at));
}

// Sixteen bytes, both addresses multiples of that.
__device__ __forceinline__ void bring(Shared to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
// What was asked for since the last time is a group.
__device__ __forceinline__ void close_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// All groups but the last kButs are there, for the thread that asked.
template <int kButs>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kButs) : "memory");
}

__device__ __forceinline__ uint4 load_four(Shared at) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(at));
  return v;
}
__device__ __forceinline__ uint2 load_two(Shared at) {
  uint2 v;
  asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(at));
  return v;
}
__device__ __forceinline__ uint32_t load_word(Shared at) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
  return v;
}

// What warps of a block tell each other without waiting for all: a barrier in shared memory that
// opens, once a turn, when `count` threads have arrived. What they wrote before is visible to those
// who have seen it open. Turns are counted by their parity; one that never was counts as open.
constexpr int kGateBytes = 8;
__device__ __forceinline__ void make_gate(Shared gate, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(gate), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive_at(Shared gate) {
  asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}" ::"r"(gate) : "memory");
}
__device__ __forceinline__ void wait_at(Shared gate, int parity) {
  uint32_t open = 0;
  while (open == 0) {
    asm volatile(
        "{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
        : "=r"(open)
        : "r"(gate), "r"(parity)
        : "memory");
  }
}

}  // namespace rota
