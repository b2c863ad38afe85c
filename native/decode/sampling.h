// From logits to a token: greedy, or temperature and top-p with seeded bits. Owns the
// distribution's arithmetic and the exact rule for accepting a drafted token; knows no model and no
// pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rota {

struct SamplingParams {
  double temperature = 0;  // 0 = greedy
  double top_p = 1;        // keep the smallest set of most probable tokens that holds this share
  uint64_t seed = 1;
  bool greedy() const { return temperature == 0; }
};

// The largest logit, the lowest id of equals.
int argmax(std::span<const float> logits);

// Uniform numbers in [0, 1), a function of the seed and of how many were drawn.
class UniformSource {
 public:
  explicit UniformSource(uint64_t seed);
  double next();

 private:
  uint64_t key_, drawn_ = 0;
};

// Turns logits into probabilities: softmax(logits / temperature), then top-p, renormalised. Holds
// the workspace.
class Distribution {
 public:
  explicit Distribution(int vocab);
  // out[vocab]; zero outside the kept set.
  void fill(std::span<const float> logits, const SamplingParams& params, std::span<float> out);

 private:
  std::vector<double> weight_;
  std::vector<int> order_;
};

// The token at quantile u of a distribution that sums to about 1; never one of probability 0.
int sample(std::span<const float> probabilities, double u);

// Speculative sampling (Leviathan et al. 2023, Chen et al. 2023): a token drafted from q is kept
// with probability min(1, p/q); else the token comes from max(p - q, 0) / Z. What comes out is
// distributed as p, whatever q was.
bool accept_drafted(float p, float q, double u);
int sample_residual(std::span<const float> p, std::span<const float> q, double u,
                    std::span<float> workspace);

}  // namespace rota
