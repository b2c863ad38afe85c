// The sum of a layer's routed experts over all text. Owns its order, so that threads change no bit.
#pragma once

#include <functional>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "quantise/expert_matrices.h"
#include "quantise/layer_inputs.h"

namespace rota {

// y[tokens, dim], experts ascending. `expert(e)` is asked for in that order, by one thread.
Result<std::vector<float>> routed_sum(const LayerInputs& inputs, const ExpertShape& shape,
                                      ThreadPool& pool,
                                      const std::function<Result<ExpertMatrices>(int)>& expert);

// The sum of squares of the rows that are only measured on.
double measured_energy(const LayerInputs& inputs, const std::vector<float>& y);

}  // namespace rota
