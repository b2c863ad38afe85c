// Greedy and exact speculative choice.
#include "decode/token_chooser.h"

#include <algorithm>

#include "base/check.h"
#include "base/rng.h"
#include "decode/near_target.h"

namespace rota {

TokenChooser::TokenChooser(int vocab, int max_drafts, std::optional<double> assumed)
    : vocab_(static_cast<size_t>(vocab)),
      assumed_(assumed),
      distribution_(vocab),
      p_(vocab_),
      q_(vocab_ * static_cast<size_t>(max_drafts)),
      residual_(vocab_) {}

void TokenChooser::begin(const SamplingParams& params) {
  params_ = params;
  uniform_ = UniformSource(params.seed);
  // A stream of its own: what is sampled is what it would be without coins.
  coins_ = UniformSource(splitmix64(params.seed));
}

std::span<const float> TokenChooser::target(const float* logits) {
  distribution_.fill({logits, vocab_}, params_, p_);
  return p_;
}

int TokenChooser::choose(const TargetRows& rows, int row) {
  if (params_.greedy()) return rows.best(row);
  return sample(target(rows.logits(row)), uniform_.next());
}

std::span<float> TokenChooser::draft_row(int index) {
  ROTA_CHECK((static_cast<size_t>(index) + 1) * vocab_ <= q_.size(), "draft", index);
  return {q_.data() + static_cast<size_t>(index) * vocab_, vocab_};
}

int TokenChooser::pick_near(int index, const float* logits, double accept) {
  if (params_.greedy()) {
    std::fill(p_.begin(), p_.end(), 0.0f);
    p_[static_cast<size_t>(argmax({logits, vocab_}))] = 1;
  } else {
    target(logits);
  }
  const std::span<float> q = draft_row(index);
  near_target(p_, accept, q);
  return sample(q, uniform_.next());
}

int TokenChooser::pick(int index, const float* logits, int vocab) {
  ROTA_CHECK(static_cast<size_t>(vocab) == vocab_, vocab);
  const std::span<float> q = draft_row(index);
  distribution_.fill({logits, vocab_}, params_, q);
  return sample(q, uniform_.next());
}

Choice TokenChooser::judge(const Proposal& proposal, const TargetRows& rows) {
  const int drafts = static_cast<int>(proposal.ids.size());
  if (assumed_) return judge_by_coins(drafts, rows);
  for (int i = 0; i < drafts; ++i) {
    const int draft = proposal.ids[static_cast<size_t>(i)];
    if (params_.greedy()) {
      const int best = rows.best(i);
      if (best != draft) return {i, best};
      continue;
    }
    const auto p = target(rows.logits(i));
    const auto at = static_cast<size_t>(draft);
    if (proposal.q == nullptr) {
      if (accept_drafted(p[at], 1.0f, uniform_.next())) continue;
      // q is all on the draft: the residual is p without it.
      const float kept = p_[at];
      p_[at] = 0;
      if (kept < 1.0f) return {i, sample(p_, uniform_.next())};
      return {i, draft};
    }
    const std::span<const float> q(proposal.q + static_cast<size_t>(i) * vocab_, vocab_);
    if (accept_drafted(p[at], q[at], uniform_.next())) continue;
    return {i, sample_residual(p, q, uniform_.next(), residual_)};
  }
  return {drafts, choose(rows, drafts)};
}

Choice TokenChooser::judge_by_coins(int drafts, const TargetRows& rows) {
  int accepted = 0;
  while (accepted < drafts && coins_.next() < *assumed_) ++accepted;
  return {accepted, choose(rows, accepted)};
}

}  // namespace rota
