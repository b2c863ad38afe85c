// The small operations of one row: norm, rotation, compression, gates, routing (V4.1 reference 2.1
// to 2.10). Knows no layer.
#pragma once

#include <cstddef>

#include "device/device.h"

namespace rota {

void rms_row(const float* x, const float* w, int n, float eps, float* y);

// Rotates the trailing 2 * pairs channels of each of `heads` vectors [dim] at one position.
void rope_row(float* x, int heads, int dim, const float* freq, int pairs, int position,
              bool inverse);

// One group: kv, gate [ratio] pointers to [dim]; gate is not read when ratio is 1.
void compress_group(const float* const* kv, const float* const* gate, int ratio, int dim,
                    float* out);
// The same of rings [slots, dim]: group `group` is tokens group * ratio .., token p in slot p %
// slots. ratio at most kMostTokensAGroup.
void compress_from_rings(const float* kv_ring, const float* gate_ring, int slots, int ratio,
                         int group, int dim, float* out);

// kv [(mult + 1) * dim]: mult keys, then the value; h [mult * dim] in place.
void engram_gate_row(float* h, const float* kv, const float* q_weight, const float* k_weight,
                     int mult, int dim, float eps);

float softplus(float x);  // x itself above 20
// selection_bias may be null; scores [experts] is scratch. Best first; ties go to the lowest index.
void route_row(const float* logits, const float* bias, const float* selection_bias, int experts,
               int top_k, float route_scale, float* scores, int* ids, float* weights);

// The index of the largest of x[n], the lowest of equals; NaN is less than all.
int largest_of_row(const float* x, int n);

}  // namespace rota
