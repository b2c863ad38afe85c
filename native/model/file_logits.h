// What a model file says of a fixed prompt: for tests that compare files. For tests only.
#pragma once

#include <string>
#include <vector>

#include "model/weight_source.h"

namespace rota {

// Logits of all rows of a prompt of `rows` ids, then the ids and confidences of one draft where
// there is a sidecar; the plainest placement, no thread pool.
std::vector<float> file_logits(WeightSource& source, size_t rows = 24);

}  // namespace rota
