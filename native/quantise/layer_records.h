// What each round leaves of a layer, as bytes for the work folder and back. Owns the layouts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quantise/expert_fit.h"

namespace rota {

// Of the first round: what every format would cost.
struct LayerTrials {
  double energy = 0;  // of the routed sum, over the measured tokens
  std::vector<ExpertTrials> experts;
};

// Of the second: the experts as they ship.
struct FittedExpert {
  int choice = kDefaultChoice;  // index into kChoices
  double error = 0,
         energy = 0;  // sums over the measured tokens of |y - y of the full weights|^2, |y|^2
  std::vector<uint8_t> blob;
};
struct LayerFit {
  double energy = 0, error = 0;  // of the routed sum, and of its error
  std::vector<FittedExpert> experts;
};

std::string to_record(const LayerTrials& trials);
std::string to_record(const LayerFit& fit);
// Nothing where the bytes are none of theirs for that many experts.
std::optional<LayerTrials> trials_from(std::string_view record, size_t experts);
std::optional<LayerFit> fit_from(std::string_view record, size_t experts);

}  // namespace rota
