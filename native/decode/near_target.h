// A draft distribution at a stated distance from the target's, for tests of speculation. Owns that
// arithmetic; knows no model and draws nothing.
#pragma once

#include <span>

namespace rota {

// Fills q[vocab] so that a token drawn from it is accepted with probability `accept`: exact
// rejection sampling accepts sum_v min(p_v, q_v) of such drafts (Leviathan et al. 2023, 3.2). The
// mass 1 - accept is taken from p's most probable tokens and put on its least probable one, so that
// the residual max(p - q, 0) is nothing like p: a decoder that draws from p instead is far off.
// p: [vocab], sums to 1, vocab >= 2. No less than the least probable token's p is accepted,
// whatever is asked for.
void near_target(std::span<const float> p, double accept, std::span<float> q);

}  // namespace rota
