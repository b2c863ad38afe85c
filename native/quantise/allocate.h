// Which format each expert gets, under a budget of bytes: pure. Knows no weights and no file; costs
// are whatever the caller measured.
#pragma once

#include <cstdint>
#include <vector>

namespace rota {

// One expert's choices, by format; the same formats in the same order for all experts.
struct Candidate {
  int layer = 0;
  std::vector<double> cost;  // by format
  bool locked = false;       // too little was seen of it: keeps the default format
};

struct AllocationRules {
  std::vector<uint64_t> bytes;  // of an expert, by format; ascending
  int default_format = 0;       // what a locked expert keeps; the budget is all experts at this
  int capped_format = 0;        // the one that no layer may have too many of
  double cap = 0.5;             // share of a layer's experts
};

struct Allocation {
  std::vector<int> format;  // by expert
  uint64_t bytes = 0, budget = 0;
  double cost = 0;
  double lambda = 0;  // cost a byte at which the relaxation met the budget
  double bound = 0;   // no choice within rules and budget costs less (the dual's value)
};

// Lagrangian relaxation: each expert takes the format of least cost + lambda * bytes, a layer's
// surplus of the capped format moves to the next best; lambda by bisection until the bytes fit.
// What is left of the budget goes, best gain first, to experts it can still raise, alone or paid
// for by another's step down.
Allocation allocate(const std::vector<Candidate>& experts, const AllocationRules& rules);

}  // namespace rota
