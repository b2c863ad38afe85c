// Attention of one query head over an explicit set of keys that are also the values (V4.1
// reference 2.6). Knows no cache policy.
#pragma once

#include <cstddef>

#include "device/device.h"

namespace rota {

// Keys of the longest row: how many floats attention_head needs as scratch.
size_t attention_scratch(const AttentionArgs& args);

// Softmax with a sink: exp(sink - max) joins the denominator and has no value. Keys are summed in
// the order of AttentionArgs.
void attention_head(const AttentionArgs& args, int row, int head, float* scratch);

}  // namespace rota
