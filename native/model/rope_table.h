// Rotation frequencies of the two kinds of layer (V4.1 reference 2.3). Owns the YaRN ramp; rotates
// nothing.
#pragma once

#include <vector>

#include "model/config.h"

namespace rota {

// rope_dim / 2 frequencies. Window-only layers and draft stages: theta^(-2i/dim), never scaled.
std::vector<float> window_frequencies(const Config& config);
// Layers with a compressed cache: compress_theta with YaRN, at every position, also below
// rope_original_len. No magnitude factor.
std::vector<float> compressed_frequencies(const Config& config);

}  // namespace rota
