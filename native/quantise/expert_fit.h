// One expert into few bits: its Hessians from the tokens that were routed to it, GPTQ in each
// format, and what each costs on tokens that no fit saw. Knows no other expert.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "quantise/expert_matrices.h"
#include "quantise/inverse_factor.h"
#include "quantise/layer_inputs.h"
#include "quantise/scales.h"

namespace rota {

// In the order of their bytes.
inline constexpr std::array<Format, 3> kChoices = {Format::kPTQ1_0, Format::kQ2_0, Format::kQ3_K};
inline constexpr int kDefaultChoice = 1;  // Q2_0
inline constexpr int kTernaryChoice = 0;

// Sums over the measured tokens of |y - y of the full weights|^2, y with the router's weight in it.
struct FormatTrial {
  double nearest = 0;  // the format's plain encoder: each weight for itself, scale from the largest
  double searched = 0;  // scales searched, each weight for itself
  double fitted = 0;    // scales searched, GPTQ
  double weights = 0;   // no inputs: sum (w - plain encoder's)^2 / sum w^2
};

struct ExpertTrials {
  uint32_t fit_tokens = 0, measured_tokens = 0;
  double energy = 0;                   // sum over the measured tokens of |y|^2
  std::array<FormatTrial, 3> formats;  // by kChoices
};

class ExpertFit {
 public:
  // `matrices` and `inputs` must outlive this.
  ExpertFit(const ExpertMatrices& matrices, const ExpertShape& shape, const LayerInputs& inputs,
            int expert);

  // Gate, up, down as the file holds them.
  std::vector<uint8_t> blob(Format format) const;
  ExpertTrials try_formats() const;
  // Sum over the measured tokens of |y - y of `other`|^2.
  double error(const ExpertMatrices& other) const;
  double energy() const { return energy_; }

 private:
  // Scales of gate, up, down, and the blob of codes by GPTQ or each to nearest.
  std::array<Scales, 3> scales(Format format) const;
  std::vector<uint8_t> packed(const std::array<Scales, 3>& scales, bool fitted) const;
  std::vector<uint8_t> plain(Format format) const;
  double weight_error(const ExpertMatrices& other) const;

  const ExpertMatrices& matrices_;
  const ExpertShape shape_;
  InverseFactor outer_, inner_;  // of what enters gate and up; of what enters down
  uint32_t fit_tokens_ = 0, measured_tokens_ = 0;
  // The measured tokens: x [n, dim], the router's weights [n], full weights' y [n, dim].
  std::vector<float> x_, weights_, y_;
  double energy_ = 0;
};

}  // namespace rota
