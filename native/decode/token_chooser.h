// Which tokens a pass gives: the next one, and how many drafted ones before it stand. Owns the
// request's random stream and the workspaces of distributions; knows no model.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "decode/sampling.h"
#include "model/model.h"

namespace rota {

// q of draft i is at q + i * vocab; nullptr = the draft is certain (scripted).
struct Proposal {
  std::span<const int> ids;
  const float* q = nullptr;
};

struct Choice {
  int accepted = 0;  // drafts that stand
  int next = 0;      // the token after them
};

// The target's answer to the rows of a pass.
class TargetRows {
 public:
  virtual ~TargetRows() = default;
  virtual const float* logits(int row) const = 0;  // [vocab]
  virtual int best(int row) const = 0;             // their argmax, which may cost less
};

class TokenChooser : public DraftPicker {
 public:
  // assumed: judge() does not compare: a draft stands with this probability, by coins of the
  // request's own seed. Of weights whose drafts mean nothing, such passes tell their cost.
  TokenChooser(int vocab, int max_drafts, std::optional<double> assumed = std::nullopt);
  void begin(const SamplingParams& params);

  // From one row.
  int choose(const TargetRows& rows, int row);
  // Row i of the pass gives the target's distribution for draft i; row proposal.ids.size() the one
  // after them all.
  Choice judge(const Proposal& proposal, const TargetRows& rows);

  // While drafting: samples draft `index` from its own filtered distribution, which is kept for
  // judge().
  int pick(int index, const float* logits, int vocab) override;
  // The same from a distribution that the target accepts with probability `accept`
  // (near_target.h); logits: the target's own, [vocab].
  int pick_near(int index, const float* logits, double accept);
  bool greedy() const { return params_.greedy(); }
  const float* draft_distributions() const { return q_.data(); }

 private:
  Choice judge_by_coins(int drafts, const TargetRows& rows);
  std::span<const float> target(const float* logits);
  std::span<float> draft_row(int index);

  size_t vocab_;
  SamplingParams params_;
  std::optional<double> assumed_;
  UniformSource uniform_{0}, coins_{0};
  Distribution distribution_;
  std::vector<float> p_, q_, residual_;
};

}  // namespace rota
