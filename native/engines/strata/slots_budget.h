// How many bytes of slots "auto" and a size in bytes mean: what is free, or what was given, less
// what else will be taken of it. Owns the formulas and the lines that say them.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace rota {

struct SlotsBudget {
  uint64_t available = 0;
  std::string limit;  // what set it
  uint64_t program = 0;
  uint64_t dense = 0;    // weights outside the experts, the drafter's too
  uint64_t draft = 0;    // the drafter's experts
  uint64_t kv = 0;       // caches
  uint64_t scratch = 0;  // activations, staging, the pool's scratch
  uint64_t margin = 0;
  // On `host` the slots and the arena are the same RAM.
  uint64_t arena = 0, experts = 0;  // of the arena asked for; of all experts

  // available - program - dense - draft - kv - scratch - margin, 0 when that is less.
  uint64_t rest() const;
  // All experts where the rest holds them, else what the arena leaves of it.
  uint64_t slots() const;
  // "slots auto: 20.00 GiB free by MemAvailable (/proc/meminfo) - program 64.0 MiB - ..."
  std::string line() const;
};

// Bytes of slots in a size that was given: a context's keys lie beside the slots and are taken
// first, so that the size is kept whatever the context is. 0 of 0. kOutOfMemory when the keys alone
// are more.
Result<uint64_t> slots_in(uint64_t size, uint64_t kv);
// "slots 4.00 GiB - KV 1.10 GiB = 2.90 GiB of expert slots"
std::string slots_in_line(uint64_t size, uint64_t kv);

}  // namespace rota
