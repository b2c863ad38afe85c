// The CPU as a Device. Owns how operations are cut over threads; their arithmetic is in the row
// kernels beside it.
#pragma once

#include <memory>

#include "base/thread_pool.h"
#include "device/device.h"

namespace rota {

// The pool may be shared with others that use it in turn; null computes everything on the caller.
// Bits do not depend on it.
std::unique_ptr<Device> make_host_device(ThreadPool* pool);

}  // namespace rota
