// Attention of one query head over an explicit set of keys that are also the values (V4.1
// reference 2.6). Knows no cache policy.
#pragma once

#include <cstddef>

#include "device/device.h"

namespace rota {

// Keys of the longest row: how many floats attention_head needs as scratch.
size_t attention_scratch(const AttentionArgs& args);

// Whether attention_head can read every key where it lies. Keys in other formats are decoded once
// for all heads of a row.
bool attention_reads_floats(const AttentionArgs& args);
// How many keys a row has, and the one at `index` in the order of summation, decoded.
int attention_keys(const AttentionArgs& args, int row);
void attention_key(const AttentionArgs& args, int row, int index, float* key);

// Softmax with a sink: exp(sink - max) joins the denominator and has no value. Keys are summed in
// the order of AttentionArgs. decoded: the row's keys [attention_keys, head_dim], or null to read
// them where they lie.
void attention_head(const AttentionArgs& args, int row, int head, float* scratch,
                    const float* decoded = nullptr);

}  // namespace rota
