// The model's roundings and the rows of cached keys on the GPU, bit for bit formats/numbers.h and
// formats/key_codes.h. Owns the kernels that write; what reads keys decodes by key_at.cuh.
#pragma once

#include "device/cuda/launch_queue.cuh"
#include "device/device.h"

namespace rota {

// x[count] in place; count a multiple of the block.
void launch_fake_quant(LaunchQueue& queue, FakeQuant kind, float* x, size_t count);
// keys[(first + r) % slots] = x[r, keys.dim] in the keys' format.
void launch_store_keys(LaunchQueue& queue, const float* x, int rows, int first, const KeyRows& keys,
                       int slots);

}  // namespace rota
