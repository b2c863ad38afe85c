// The tier that the device holds: slots whose experts are hits, and places that missed ones are
// copied to. Owns that memory, how bytes get there, and the computing of what lies there; decides
// nothing and counts nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experts/call_plan.h"
#include "experts/expert_pool.h"

namespace rota {

// A layer call, valid until its finish(). x[rows, dim] and y as RoutedExperts::run has them.
struct DeviceCall {
  int layer = 0, rows = 0, top_k = 0;
  const CallPlan* plan = nullptr;
  const float* weights = nullptr;  // [rows, top_k], on the host
  const float* x = nullptr;
  bool pool = false;  // the CPU pool computes a part
};

// Bytes outside the device are blobs as BlobSource reads them. A device may keep them in another
// order, which is why it is told their layout; a victim leaves as it came.

// Moves of an admission, in the order in which the bytes must move: a victim leaves its slot for a
// place in the arena (null = it is dropped), an expert enters from its place (null = from the file,
// by enter()). Both places may be one.
struct SlotMove {
  uint64_t slot = 0;  // offset
  uint8_t* victim_to = nullptr;
  const BlobLayout* victim = nullptr;
  const uint8_t* from = nullptr;
  const BlobLayout* entering = nullptr;
};

class DeviceTier {
 public:
  virtual ~DeviceTier() = default;

  // False: its memory is RAM, and jobs that lie in it are the CPU pool's like any others.
  virtual bool computes() const = 0;
  virtual uint8_t* slot(uint64_t offset) = 0;  // 64-byte aligned
  virtual uint8_t* staged(size_t index) = 0;   // of the call in progress
  virtual std::span<const uint8_t> ram() = 0;  // what of it is RAM: the slots or nothing
  virtual uint64_t device_bytes() const = 0;   // what of it is not
  // Why memory of the host that it copies from is slow to copy from; empty: it is not.
  virtual const std::string& arena_note() const = 0;

  // Outside of calls: slot bytes are read from RAM; waits.
  virtual Status fill(uint64_t slot, const uint8_t* from, const BlobLayout& layout) = 0;
  // Waits until nothing moves any more: RAM may be written by others.
  virtual Status settle() = 0;
  // Waits until no victim is on its way to this place: the host may read it.
  virtual void settle_place(const uint8_t* place) = 0;

  // x[rows, dim] of the next call is computed; what is asked of the device from here to begin() has
  // no part in it. A call may also come without.
  virtual void arrive(const float* x, int rows) = 0;
  // A layer call, in this order. Nothing here waits for the device but input().
  virtual void begin(const DeviceCall& call) = 0;
  // staged(index) = the blob at from, RAM.
  virtual void stage(size_t index, const uint8_t* from, const BlobLayout& layout) = 0;
  // Jobs in slots, jobs in staged places. Only where it computes().
  virtual void compute(std::span<const ExpertJob> hits, std::span<const ExpertJob> copied) = 0;
  // x for the CPU pool; only of a call with a part for it.
  virtual const float* input() = 0;
  // After the pool has computed what lies in places of the arena.
  virtual void move(const SlotMove& move) = 0;
  // The slot's bytes from a buffer that is another's as soon as this returns.
  virtual void enter(uint64_t slot, const uint8_t* from, const BlobLayout& layout) = 0;
  // y[rows, dim] = the sum over all pairs in the router's order; those of `pooled` (distinct
  // experts of the plan) were computed by the pool, which is null when there are none.
  virtual Status finish(ExpertPool* pool, std::span<const size_t> pooled, float* y) = 0;
};

struct DeviceTierNeeds {
  uint64_t slots_bytes = 0;
  uint64_t staged_blobs = 0, max_blob = 0;
  uint64_t victim_bytes = 0;  // the largest that move() takes out of a slot
  int layers = 0;
  ExpertShape shape;
  // What is copied from, registered with the device's driver; written by move() alone.
  std::vector<std::span<const uint8_t>> arena;
};
// Makes the tier when its sizes are known. kOutOfMemory names size, formula and knob.
using MakeDeviceTier =
    std::function<Result<std::unique_ptr<DeviceTier>>(const DeviceTierNeeds& needs)>;

}  // namespace rota
