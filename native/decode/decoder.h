// One request at a time over one model: prompt, passes, speculation, books. Owns the order of a
// request's steps; knows no wire format and no tier.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "base/status.h"
#include "decode/draft_oracle.h"
#include "decode/ledger.h"
#include "decode/request.h"
#include "decode/token_chooser.h"
#include "experts/counted_experts.h"
#include "experts/draft_experts.h"
#include "model/model.h"

namespace rota {

struct DecoderOptions {
  int depth = 0;  // drafts a pass; 0 = plain decode
  double confidence =
      0;  // verify only drafts before the first whose estimated acceptance is below this
  int prompt_batch = 64;  // prompt rows a pass
  // For tests: no drafter; the target is read ahead, which no book has, and each draft is accepted
  // with this probability.
  std::optional<double> accept = {};
  // Drafts of the model's own drafter stand by a coin of this probability, see token_chooser.h.
  std::optional<double> assume_accept = {};
};

struct DecoderParts {
  Model* model = nullptr;
  CountedExperts* experts = nullptr;
  DraftExperts* draft_experts = nullptr;  // nullptr without a drafter
  DraftOracle* oracle = nullptr;          // replaces the drafter where given
  Ledger* ledger = nullptr;
};

// Tokens as they come, for streaming.
using TokenSink = std::function<void(std::span<const int> ids)>;

class Decoder {
 public:
  Decoder(const DecoderParts& parts, const DecoderOptions& options);

  // kBadRequest before anything ran, with the numbers that do not fit. `cancelled` is read between
  // passes.
  Result<GenerateResult> generate(const GenerateRequest& request, int64_t arrived_ns,
                                  const std::atomic<bool>& cancelled, const TokenSink& sink);
  // From the next request on; nullptr writes none.
  void write_ledger(Ledger* ledger) { parts_.ledger = ledger; }
  // kIo for the file of logits that was asked for: nothing of it stays then.
  Result<ScoreResult> score(const ScoreRequest& request, const std::atomic<bool>& cancelled);

 private:
  struct Marks;  // the growing counters of the model at the start of a pass
  Status check(const GenerateRequest& request) const;
  Status check(const ScoreRequest& request) const;
  Status check_tokens(const std::vector<int>& tokens, const char* what) const;
  Status read_prompt(const GenerateRequest& request, const std::atomic<bool>& cancelled,
                     GenerateResult& result, int* last_row);
  Status one_pass(const GenerateRequest& request, GenerateResult& result, int* last_row);
  Status propose(const GenerateResult& result, int most, Proposal* proposal);
  Status propose_ahead(int token, int depth, Proposal* proposal);
  Status forward(std::span<const int> tokens, PassKind kind, int first_logit_row, PassRecord& pass);
  bool drafts_by_model() const {
    return options_.depth > 0 && parts_.oracle == nullptr && !options_.accept;
  }
  // Appends until the request is full or stops; returns how many were taken.
  int emit(const GenerateRequest& request, std::span<const int> tokens, GenerateResult& result);
  std::string logits_digest(int row) const;

  DecoderParts parts_;
  DecoderOptions options_;
  TokenChooser chooser_;
  std::vector<int> rows_;   // tokens of the pass in progress
  std::vector<int> ahead_;  // drafts of propose_ahead()
};

}  // namespace rota
