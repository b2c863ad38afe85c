// What the model that ships says on the measured pieces, beside what the source says.
#include <algorithm>
#include <cmath>
#include <vector>

#include "quantise/calibration.h"

namespace rota {
namespace {

struct Spread {
  double log_sum;  // of exp(logits)
  int top;
};

Spread spread_of(const float* logits, int vocab) {
  const float* top = std::max_element(logits, logits + vocab);
  double sum = 0;
  for (int i = 0; i < vocab; ++i) {
    sum += std::exp(static_cast<double>(logits[i]) - static_cast<double>(*top));
  }
  return {std::log(sum) + static_cast<double>(*top), static_cast<int>(top - logits)};
}

// Adds one position.
void add(const float* source, const float* shipped, int vocab, int next,
         Calibration::Difference& sums) {
  const Spread a = spread_of(source, vocab), b = spread_of(shipped, vocab);
  double divergence = 0;
  for (int i = 0; i < vocab; ++i) {
    const double p = static_cast<double>(source[i]) - a.log_sum;
    divergence += std::exp(p) * (p - static_cast<double>(shipped[i]) + b.log_sum);
  }
  sums.tokens += 1;
  sums.source_nats += a.log_sum - static_cast<double>(source[next]);
  sums.shipped_nats += b.log_sum - static_cast<double>(shipped[next]);
  sums.divergence += divergence;
  sums.same_top += a.top == b.top ? 1 : 0;
}

}  // namespace

Result<Calibration::Difference> Calibration::difference() {
  ROTA_ASSIGN_OR_RETURN(const auto source, load_pass(nullptr));
  ROTA_ASSIGN_OR_RETURN(const auto shipped, load_pass(shipped_dense));
  PieceStates before =
      PieceStates::reopen(last_states(false), pieces_.size(), source->carried_bytes());
  PieceStates after =
      PieceStates::reopen(last_states(true), pieces_.size(), source->carried_bytes());
  if (before.empty() || after.empty()) {
    return Status(Code::kIo, last_states(before.empty() ? false : true) +
                                 ": was changed while it was in use; start again");
  }
  Difference sums;
  const int vocab = source_.config().vocab;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!pieces_[i].held_out) continue;
    const std::vector<int>& tokens = pieces_[i].tokens;
    const int known = static_cast<int>(tokens.size()) - 1;  // rows whose next token is in the piece
    for (int first = 0; first < known; first += kLogitRows) {
      const int end = std::min(first + kLogitRows, known);
      const float* a = source->logits(end, first, before.of(i));
      const float* b = shipped->logits(end, first, after.of(i));
      for (int r = first; r < end; ++r) {
        const auto row = static_cast<size_t>(r - first) * static_cast<size_t>(vocab);
        add(a + row, b + row, vocab, tokens[static_cast<size_t>(r) + 1], sums);
      }
    }
  }
  const double tokens = static_cast<double>(std::max<uint64_t>(sums.tokens, 1));
  for (double* mean : {&sums.source_nats, &sums.shipped_nats, &sums.divergence, &sums.same_top}) {
    *mean /= tokens;
  }
  return sums;
}

}  // namespace rota
