// Which read kernel is a ceiling's: the one that reads this memory fastest with all threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "probe/read_sum.h"

namespace rota {

// Reads words[0, count) with each kernel in turn, several times over, and returns the kernel of the
// fastest pass. count a multiple of 131072 (1 MiB); the memory was touched before. A ceiling that
// another program outruns is none, so no kernel is taken for granted.
ReadKernel fastest_read_kernel(ThreadPool& threads, const uint64_t* words, size_t count);

}  // namespace rota
