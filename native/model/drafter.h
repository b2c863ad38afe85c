// DSpark: context from the target's taps, a non-causal block of drafts, Markov correction,
// confidence (V4.1 reference 2.12). Knows no acceptance rule.
#pragma once

#include "model/core.h"

namespace rota {

// Context keys of every stage for `rows` positions from `first` on, from buffers.taps.
void extend_draft_context(Core& core, int first, int rows);

// Drafts `depth` tokens after next_token at `position`; results in the core's draft buffers.
Status run_draft(Core& core, int next_token, int position, int depth, RoutedExperts& experts,
                 DraftPicker* picker);

}  // namespace rota
