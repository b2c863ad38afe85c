// A request's story: check, read the prompt, choose the first token, then pass after pass.
#include "decode/decoder.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/clock.h"
#include "base/sha256.h"

namespace rota {
namespace {

double milliseconds(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

class LastPass final : public TargetRows {
 public:
  explicit LastPass(const Model& model) : model_(model) {}
  const float* logits(int row) const override { return model_.logits(row); }
  int best(int row) const override { return model_.best(row); }

 private:
  const Model& model_;
};

}  // namespace

struct Decoder::Marks {
  explicit Marks(const Model& model) : now(model.counters()) {}
  ModelCounters now;
  // What the model read since, into the pass.
  void into(const Model& model, PassRecord& pass, int64_t forward_ns) const {
    const ModelCounters& then = model.counters();
    pass.dense_bytes = static_cast<int64_t>(then.dense_bytes - now.dense_bytes);
    pass.engram_rows = static_cast<int64_t>(then.engram_rows - now.engram_rows);
    pass.head_rows = static_cast<int64_t>(then.head_rows - now.head_rows);
    pass.engram_bytes = static_cast<int64_t>(then.engram_bytes - now.engram_bytes);
    pass.dense_ns = forward_ns - static_cast<int64_t>(then.experts_ns - now.experts_ns);
  }
};

Decoder::Decoder(const DecoderParts& parts, const DecoderOptions& options)
    : parts_(parts),
      options_(options),
      chooser_(parts.model->config().vocab, std::max(options.depth, 1), options.assume_accept) {
  ROTA_CHECK(!drafts_by_model() || parts_.draft_experts != nullptr, "depth", options_.depth);
  rows_.reserve(static_cast<size_t>(std::max(options_.depth + 1, 1)));
}

Status Decoder::check_tokens(const std::vector<int>& tokens, const char* what) const {
  const int vocab = parts_.model->config().vocab;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab) {
      return Status(Code::kBadRequest, std::string(what) + "[" + std::to_string(i) + "] is " +
                                           std::to_string(tokens[i]) + ": token ids are 0.." +
                                           std::to_string(vocab - 1));
    }
    ROTA_RETURN_IF_ERROR(parts_.model->config().check_token(tokens[i]).with_context(
        std::string(what) + "[" + std::to_string(i) + "]"));
  }
  return Status();
}

Status Decoder::check(const GenerateRequest& request) const {
  if (request.prompt.empty()) return Status(Code::kBadRequest, "the prompt has no tokens");
  if (request.max_new < 1) {
    return Status(Code::kBadRequest,
                  "max_new is " + std::to_string(request.max_new) + ": at least 1");
  }
  ROTA_RETURN_IF_ERROR(check_tokens(request.prompt, "prompt"));
  ROTA_RETURN_IF_ERROR(check_tokens(request.stop, "stop"));
  const auto needed = static_cast<int64_t>(request.prompt.size()) + request.max_new;
  if (needed > parts_.model->options().ctx) {
    return Status(Code::kBadRequest, "a prompt of " + std::to_string(request.prompt.size()) +
                                         " tokens + max_new " + std::to_string(request.max_new) +
                                         " = " + std::to_string(needed) +
                                         " positions, the context holds " +
                                         std::to_string(parts_.model->options().ctx) + " (--ctx)");
  }
  return Status();
}

Status Decoder::forward(std::span<const int> tokens, PassKind kind, int first_logit_row,
                        PassRecord& pass) {
  const Marks marks(*parts_.model);
  const int64_t start = now_ns();
  const Status status = parts_.model->forward(tokens, kind, *parts_.experts, first_logit_row);
  marks.into(*parts_.model, pass, now_ns() - start);
  pass.experts = parts_.experts->take_tally();
  pass.kind = kind;
  pass.rows = static_cast<int>(tokens.size());
  return status;
}

Status Decoder::read_prompt(const GenerateRequest& request, const std::atomic<bool>& cancelled,
                            GenerateResult& result, int* last_row) {
  const std::span<const int> prompt(request.prompt);
  const auto batch = static_cast<size_t>(options_.prompt_batch);
  for (size_t at = 0; at < prompt.size() && !cancelled; at += batch) {
    const auto chunk = prompt.subspan(at, std::min(batch, prompt.size() - at));
    const int rows = static_cast<int>(chunk.size());
    PassRecord pass;
    // Of the prompt's logits only the last row's are needed.
    const bool last = at + chunk.size() == prompt.size();
    ROTA_RETURN_IF_ERROR(forward(chunk, PassKind::kPrefill, last ? rows - 1 : rows, pass));
    if (drafts_by_model()) ROTA_RETURN_IF_ERROR(parts_.model->commit_draft_context(rows));
    result.prefill.add(pass);
    result.prompt_tokens += rows;
    *last_row = rows - 1;
  }
  return Status();
}

Result<GenerateResult> Decoder::generate(const GenerateRequest& request, int64_t arrived_ns,
                                         const std::atomic<bool>& cancelled,
                                         const TokenSink& sink) {
  if (parts_.oracle != nullptr) parts_.oracle->next_request();
  ROTA_RETURN_IF_ERROR(check(request));
  GenerateResult result;
  const auto most = static_cast<size_t>(request.max_new);
  result.ids.reserve(most);
  result.pass_ms.reserve(most);
  result.pass_tokens.reserve(most);
  chooser_.begin(request.sampling);
  ROTA_RETURN_IF_ERROR(parts_.model->truncate(0));
  static_cast<void>(parts_.experts->take_tally());
  if (parts_.draft_experts != nullptr) static_cast<void>(parts_.draft_experts->take_tally());
  const uint64_t draft_dense = parts_.model->counters().draft_dense_bytes;

  const int64_t start = now_ns();
  int last_row = 0;
  ROTA_RETURN_IF_ERROR(read_prompt(request, cancelled, result, &last_row));
  bool done = cancelled;
  if (!done) {
    const int first = chooser_.choose(LastPass(*parts_.model), last_row);
    emit(request, std::span(&first, 1), result);
    if (sink) sink(result.ids);
  }
  const int64_t first_token = now_ns();
  result.prompt_ns = first_token - start;
  result.ttft_ns = first_token - arrived_ns;
  int64_t last_token = first_token;
  Status failed;
  while (!cancelled && result.finish != Finish::kStop && result.ids.size() < most && failed.ok()) {
    const size_t before = result.ids.size();
    failed = one_pass(request, result, &last_row);
    if (!failed.ok()) break;
    last_token = now_ns();
    if (sink) sink(std::span<const int>(result.ids).subspan(before));
  }
  if (parts_.ledger != nullptr) result.ledger = parts_.ledger->flush();
  if (!failed.ok()) return failed;
  result.predicted_ns = last_token - first_token;
  if (result.finish != Finish::kStop && result.ids.size() < most) {
    result.finish = Finish::kCancelled;
  }
  if (parts_.draft_experts != nullptr) result.draft.experts = parts_.draft_experts->take_tally();
  result.draft.dense_bytes =
      static_cast<int64_t>(parts_.model->counters().draft_dense_bytes - draft_dense);
  if (!result.ids.empty()) result.logits_sha256 = logits_digest(last_row);
  return result;
}

int Decoder::emit(const GenerateRequest& request, std::span<const int> tokens,
                  GenerateResult& result) {
  int taken = 0;
  for (const int token : tokens) {
    result.ids.push_back(token);
    ++taken;
    const bool eos = !request.ignore_eos && token == parts_.model->config().eos_id;
    if (eos || std::find(request.stop.begin(), request.stop.end(), token) != request.stop.end()) {
      result.finish = Finish::kStop;
      break;
    }
  }
  return taken;
}

// At most `most` drafts: a pass never gives more tokens than the request still wants.
Status Decoder::propose(const GenerateResult& result, int most, Proposal* proposal) {
  const int depth = std::min(options_.depth, most);
  if (depth < 1) return Status();
  if (options_.accept) return propose_ahead(result.ids.back(), depth, proposal);
  if (parts_.oracle != nullptr) {
    proposal->ids = parts_.oracle->draft(result.ids.size(), depth);
    return Status();
  }
  DraftOut drafts;
  ROTA_RETURN_IF_ERROR(parts_.model->draft(result.ids.back(), depth, *parts_.draft_experts,
                                           chooser_.greedy() ? nullptr : &chooser_, &drafts));
  // The gate of draft i looks at drafts before i only, so that sampling stays exact.
  int keep = 0;
  while (keep < drafts.count) {
    const double estimate = 1 / (1 + std::exp(-static_cast<double>(drafts.conf[keep])));
    if (estimate < options_.confidence) break;
    ++keep;
  }
  proposal->ids = {drafts.ids, static_cast<size_t>(keep)};
  proposal->q = chooser_.draft_distributions();
  return Status();
}

// A row's logits do not depend on the rows beside it, so what is read here is what will judge.
Status Decoder::propose_ahead(int token, int depth, Proposal* proposal) {
  Model& model = *parts_.model;
  const int position = model.position();
  ahead_.clear();
  for (int i = 0; i < depth; ++i) {
    PassRecord unbooked;
    ROTA_RETURN_IF_ERROR(forward(std::span(&token, 1), PassKind::kDecode, 0, unbooked));
    token = chooser_.pick_near(i, model.logits(0), *options_.accept);
    ahead_.push_back(token);
  }
  proposal->ids = ahead_;
  proposal->q = chooser_.draft_distributions();
  return model.truncate(position);
}

Status Decoder::one_pass(const GenerateRequest& request, GenerateResult& result, int* last_row) {
  const int64_t start = now_ns();
  const int left = request.max_new - static_cast<int>(result.ids.size());
  Proposal proposal;
  ROTA_RETURN_IF_ERROR(propose(result, left - 1, &proposal));
  PassRecord pass;
  pass.request = request.id;
  pass.pass = static_cast<int>(result.pass_ms.size());
  pass.offered = static_cast<int>(proposal.ids.size());
  pass.draft_ns = now_ns() - start;

  rows_.assign(1, result.ids.back());
  rows_.insert(rows_.end(), proposal.ids.begin(), proposal.ids.end());
  Model& model = *parts_.model;
  const int position = model.position();
  const PassKind kind = rows_.size() == 1 ? PassKind::kDecode : PassKind::kVerify;
  ROTA_RETURN_IF_ERROR(forward(rows_, kind, 0, pass));
  const Choice choice = chooser_.judge(proposal, LastPass(model));

  // The committed rows are the token that was given and the drafts that stand.
  ROTA_RETURN_IF_ERROR(model.truncate(position + 1 + choice.accepted));
  const int64_t context = now_ns();
  if (drafts_by_model()) ROTA_RETURN_IF_ERROR(model.commit_draft_context(1 + choice.accepted));
  pass.draft_ns += now_ns() - context;

  rows_.erase(rows_.begin());
  rows_.resize(static_cast<size_t>(choice.accepted));
  rows_.push_back(choice.next);
  pass.tokens = emit(request, rows_, result);
  pass.accepted = std::min(choice.accepted, pass.tokens);  // what stands behind a stop is not kept
  *last_row = pass.tokens - 1;
  pass.total_ns = now_ns() - start;
  result.decode.add(pass);
  result.pass_ms.push_back(milliseconds(pass.total_ns));
  result.pass_tokens.push_back(pass.tokens);
  if (parts_.ledger != nullptr) parts_.ledger->add(pass);
  return Status();
}

std::string Decoder::logits_digest(int row) const {
  const auto vocab = static_cast<size_t>(parts_.model->config().vocab);
  return sha256_hex(parts_.model->logits(row), vocab * sizeof(float));
}

}  // namespace rota
