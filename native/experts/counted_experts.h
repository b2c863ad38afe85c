// A placement that says what it did. The door between experts and whoever keeps books over passes.
#pragma once

#include "experts/counters.h"
#include "model/routed_experts.h"

namespace rota {

class CountedExperts : public RoutedExperts {
 public:
  // What was counted since the last call.
  virtual ExpertTally take_tally() = 0;
};

}  // namespace rota
