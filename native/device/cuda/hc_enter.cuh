// A sublayer's entry (Device::hc_enter) in two launches: the stream is read once, by many blocks.
#pragma once

#include "device/cuda/launch_queue.cuh"
#include "device/device.h"

namespace rota {

// Whether this shape goes that way; others do it operation by operation.
bool fits_hc_enter(const HcStream& s, const HcMix& mix);
// Of scratch for that many rows of a stream of `dim`.
size_t hc_enter_scratch_floats(int rows, int dim);
void launch_hc_enter(LaunchQueue& queue, const HcStream& s, const HcMix& mix, const float* collapse,
                     const float* norm, int rows, float* x, float* scratch);

}  // namespace rota
