// Teacher-forced scoring: what the model thinks of tokens that somebody else chose, by the routing
// of a prompt or by that of decode.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/clock.h"
#include "decode/decoder.h"
#include "decode/logits_file.h"

namespace rota {
namespace {

Status outside(const char* name, int value, int min, size_t end) {
  return Status(Code::kBadRequest, std::string(name) + " is " + std::to_string(value) + ": " +
                                       std::to_string(min) + ".." + std::to_string(end - 1) +
                                       " of these tokens");
}

// The natural logarithm of the probability of `token`, in double; best is the largest logit's.
double log_probability(std::span<const float> logits, int best, int token) {
  const auto largest = static_cast<double>(logits[static_cast<size_t>(best)]);
  double sum = 0;
  for (const float v : logits) sum += std::exp(static_cast<double>(v) - largest);
  return static_cast<double>(logits[static_cast<size_t>(token)]) - largest - std::log(sum);
}

}  // namespace

Status Decoder::check(const ScoreRequest& request) const {
  const size_t n = request.tokens.size();
  if (n < 2) {
    return Status(Code::kBadRequest, "score needs at least 2 tokens, got " + std::to_string(n));
  }
  ROTA_RETURN_IF_ERROR(check_tokens(request.tokens, "tokens"));
  const int ctx = parts_.model->options().ctx;
  if (n > static_cast<size_t>(ctx)) {
    return Status(Code::kBadRequest, std::to_string(n) + " tokens, the context holds " +
                                         std::to_string(ctx) + " (--ctx)");
  }
  const int from = request.decode_from.value_or(1);
  if (from < 1 || static_cast<size_t>(from) >= n) return outside("decode_from", from, 1, n);
  const int first = request.logits_from;
  if (first < 0 || static_cast<size_t>(first) >= n - 1) {
    return outside("logits_from", first, 0, n - 1);
  }
  return Status();
}

Result<ScoreResult> Decoder::score(const ScoreRequest& request,
                                   const std::atomic<bool>& cancelled) {
  ROTA_RETURN_IF_ERROR(check(request));
  Model& model = *parts_.model;
  const std::span<const int> tokens(request.tokens);
  const auto vocab = static_cast<size_t>(model.config().vocab);
  const size_t prompt =
      request.decode_from ? static_cast<size_t>(*request.decode_from) : tokens.size();
  const auto first_kept = static_cast<size_t>(request.logits_from);
  std::unique_ptr<LogitsFile> file;
  if (!request.logits_out.empty()) {
    ROTA_ASSIGN_OR_RETURN(
        file, LogitsFile::create(request.logits_out, model.config().vocab, request.logits_from,
                                 static_cast<int>(tokens.size() - 1 - first_kept)));
  }
  ROTA_RETURN_IF_ERROR(model.truncate(0));
  ScoreResult result;
  const int64_t start = now_ns();
  const auto batch =
      static_cast<size_t>(std::min(options_.prompt_batch, model.options().max_logit_rows));
  for (size_t at = 0; at < tokens.size();) {
    if (cancelled) return Status(Code::kCancelled, "cancelled");
    const bool decodes = at >= prompt;
    const auto chunk = tokens.subspan(at, decodes ? 1 : std::min(batch, prompt - at));
    PassRecord pass;
    ROTA_RETURN_IF_ERROR(forward(chunk, decodes ? PassKind::kDecode : PassKind::kPrefill, 0, pass));
    for (size_t r = 0; r < chunk.size(); ++r, ++at) {
      const std::span<const float> logits(model.logits(static_cast<int>(r)), vocab);
      const int best = argmax(logits);
      if (at + 1 == prompt) result.prompt_sha256 = logits_digest(static_cast<int>(r));
      if (at + 1 == tokens.size()) {
        result.next = best;
        result.logits_sha256 = logits_digest(static_cast<int>(r));
        continue;
      }
      result.logprobs.push_back(log_probability(logits, best, tokens[at + 1]));
      result.top1.push_back(best);
      if (file != nullptr && at >= first_kept) ROTA_RETURN_IF_ERROR(file->add(logits));
    }
  }
  if (file != nullptr) {
    ROTA_ASSIGN_OR_RETURN(result.logits_file, file->finish());
  }
  result.ns = now_ns() - start;
  return result;
}

}  // namespace rota
