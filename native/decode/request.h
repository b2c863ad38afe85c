// What is asked of the decoder and what it answers. Data only; knows no wire format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "decode/sampling.h"
#include "experts/counters.h"
#include "experts/draft_experts.h"
#include "model/routed_experts.h"

namespace rota {

struct GenerateRequest {
  int64_t id = 0;
  std::vector<int> prompt;
  int max_new = 0;
  SamplingParams sampling;
  bool ignore_eos = false;
  std::vector<int> stop;  // ids that end the answer; the id itself is part of it
};

// What one forward pass of the target did. The unit of the ledger.
struct PassRecord {
  int64_t request = 0;
  int pass = 0;
  PassKind kind = PassKind::kDecode;
  int rows = 0;
  int offered = 0;   // drafted tokens that were verified
  int accepted = 0;  // of these, kept
  int tokens = 0;    // that came out
  ExpertTally experts;
  int64_t head_rows = 0;  // rows whose logits were computed
  int64_t dense_bytes = 0, engram_rows = 0, engram_bytes = 0;
  int64_t total_ns = 0;  // from the start of drafting to the tokens
  int64_t draft_ns = 0;  // drafting and giving the drafter its context
  int64_t dense_ns = 0;  // the forward outside the routed experts
};

// Sums over the passes of a request that are alike: its prompt, or its decode.
struct PassTotals {
  int64_t passes = 0, rows = 0, head_rows = 0, offered = 0, accepted = 0;
  ExpertTally experts;
  int64_t dense_bytes = 0, engram_rows = 0, engram_bytes = 0;
  void add(const PassRecord& pass);
  void add(const PassTotals& other);
};

struct DraftTotals {
  DraftTally experts;
  int64_t dense_bytes = 0;
};

enum class Finish { kLength, kStop, kCancelled };
const char* finish_name(Finish finish);

struct GenerateResult {
  std::vector<int> ids;
  Finish finish = Finish::kLength;
  int prompt_tokens = 0;
  std::vector<double> pass_ms;
  std::vector<int> pass_tokens;
  int64_t prompt_ns = 0;     // prompt passes and the choice of the first token
  int64_t ttft_ns = 0;       // from the request's arrival, its wait in the queue included
  int64_t predicted_ns = 0;  // from the first token to the last
  PassTotals prefill, decode;
  DraftTotals draft;
  std::string
      logits_sha256;  // of the row that the last token was chosen from; empty without tokens
  Status ledger;      // why its lines are not in the ledger yet
};

struct ScoreRequest {
  int64_t id = 0;
  std::vector<int> tokens;
  // Tokens before it are read as a prompt, the others one a pass as decode reads them, with the
  // routing of decode. Absent: all are the prompt's.
  std::optional<int> decode_from;
  // A file for the whole logits of rows logits_from .. tokens - 2; empty = none.
  std::string logits_out;
  int logits_from = 0;
};

// What a logits file holds, so that its reader can tell it from another one.
struct LogitsFileFacts {
  std::string path, sha256;  // of the rows
  int first_row = 0, rows = 0;
};

// Position i says what the model thinks of tokens[i + 1] after tokens[0..i].
struct ScoreResult {
  std::vector<double> logprobs;  // natural logarithm, [tokens - 1]
  std::vector<int> top1;         // [tokens - 1]
  int next = 0;                  // the greedy token after the last
  std::string logits_sha256;     // of the last row
  std::string prompt_sha256;     // of the last row that was read as a prompt
  std::optional<LogitsFileFacts> logits_file;
  int64_t ns = 0;
};

}  // namespace rota
