// Events as JSON lines.
#include "engines/events.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

double milliseconds(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

Json rate(int64_t n, int64_t ns) {
  const auto value = per_second(n, ns);
  return value ? Json(*value) : Json();
}

Json by_source(const SourceTally& tally) {
  Json out;
  for (size_t s = 0; s < kSources; ++s) out[source_name(static_cast<Source>(s))] = tally.of[s];
  return out;
}

Json bytes_of(const PassTotals& totals) {
  Json out = by_source(totals.experts.bytes);
  out["dense"] = totals.dense_bytes;
  out["engram"] = totals.engram_bytes;
  return out;
}

// What decode and prompt passes are both counted by.
Json lookups_of(const PassTotals& totals) {
  const ExpertTally& experts = totals.experts;
  Json out;
  out["passes"] = totals.passes;
  out["rows"] = totals.rows;
  out["head_rows"] = totals.head_rows;
  out["lookups"] = experts.lookups;
  out.update(by_source(experts.source));
  out["skipped"] = experts.skipped;
  return out;
}

Json counters_of(const PassTotals& decode, const PassTotals& prefill, const DraftTotals& draft) {
  const ExpertTally& experts = decode.experts;
  Json out = lookups_of(decode);
  out["late"] = experts.late;
  out["offered"] = decode.offered;
  out["accepted"] = decode.accepted;
  out["distinct"] = by_source(experts.distinct);
  out["bytes"] = bytes_of(decode);
  Json prompt = lookups_of(prefill);
  prompt["distinct"] = by_source(prefill.experts.distinct);
  prompt["bytes"] = bytes_of(prefill);
  out["prefill"] = std::move(prompt);
  out["draft"] = {{"lookups", draft.experts.lookups},
                  {"bytes", draft.experts.bytes},
                  {"dense_bytes", draft.dense_bytes}};
  out["engram"] = {{"rows", decode.engram_rows}, {"bytes", decode.engram_bytes}};
  out["prefetch"] = {{"issued", experts.prefetch.issued},
                     {"useful", experts.prefetch.useful},
                     {"late", experts.prefetch.late},
                     {"unused_bytes", experts.prefetch.unused_bytes}};
  out["admitted"] = experts.admitted;
  out["demoted"] = experts.demoted;
  return out;
}

// Of the ids as little-endian 32-bit integers.
std::string ids_digest(const std::vector<int>& ids) {
  std::string bytes;
  for (const int id : ids) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>(static_cast<uint32_t>(id) >> shift & 0xffu);
    }
  }
  return sha256_hex(bytes.data(), bytes.size());
}

Json event(const char* name) { return {{"event", name}}; }

}  // namespace

std::optional<double> per_second(int64_t n, int64_t ns) {
  if (n <= 0 || ns <= 0) return std::nullopt;
  return static_cast<double>(n) / (static_cast<double>(ns) * 1e-9);
}

std::string loading_event(uint64_t bytes, uint64_t total) {
  Json out = event("loading");
  out["bytes"] = bytes;
  out["total"] = total;
  return out.dump();
}

std::string tokens_event(int64_t id, std::span<const int> ids) {
  Json out = event("tokens");
  out["id"] = id;
  out["ids"] = std::vector<int>(ids.begin(), ids.end());
  return out.dump();
}

std::string done_event(int64_t id, const GenerateResult& r, const std::vector<std::string>& lossy,
                       const std::string& subject) {
  const auto tokens = static_cast<int64_t>(r.ids.size());
  Json out = event("done");
  out["id"] = id;
  out["ids"] = r.ids;
  out["finish"] = finish_name(r.finish);
  out["pass_ms"] = r.pass_ms;
  out["pass_tokens"] = r.pass_tokens;
  out["timings"] = {{"prompt_n", r.prompt_tokens},
                    {"cache_n", 0},
                    {"prompt_ms", milliseconds(r.prompt_ns)},
                    {"prompt_per_second", rate(r.prompt_tokens, r.prompt_ns)},
                    {"predicted_n", tokens},
                    {"predicted_ms", milliseconds(r.predicted_ns)},
                    {"predicted_per_second", rate(tokens - 1, r.predicted_ns)},
                    {"pool_ms", milliseconds(r.decode.experts.pool_ns)},
                    {"pool_bytes", r.decode.experts.pool_bytes},
                    {"draft_n", r.decode.offered},
                    {"draft_n_accepted", r.decode.accepted}};
  out["ttft_ms"] = milliseconds(r.ttft_ns);
  out["counters"] = counters_of(r.decode, r.prefill, r.draft);
  out["digest"] = {{"ids", ids_digest(r.ids)},
                   {"logits", r.logits_sha256.empty() ? Json() : Json(r.logits_sha256)}};
  out["lossy"] = lossy;
  if (!subject.empty()) out["subject"] = subject;
  return out.dump();
}

std::string score_event(int64_t id, const ScoreResult& r) {
  double total = 0;
  for (const double logprob : r.logprobs) total += logprob;
  Json out = event("score");
  out["id"] = id;
  out["logprobs"] = r.logprobs;
  out["top1"] = r.top1;
  out["next"] = r.next;
  out["sum_logprob"] = total;
  out["digest"] = {{"logits", r.logits_sha256}, {"prompt", r.prompt_sha256}};
  if (r.logits_file) {
    out["logits_file"] = {{"path", r.logits_file->path},
                          {"first_row", r.logits_file->first_row},
                          {"rows", r.logits_file->rows},
                          {"sha256", r.logits_file->sha256}};
  }
  out["ms"] = milliseconds(r.ns);
  return out.dump();
}

std::string reset_event(int64_t id) {
  Json out = event("reset");
  out["id"] = id;
  return out.dump();
}

std::string error_event(const std::optional<int64_t>& id, const std::string& code,
                        const std::string& message) {
  Json out = event("error");
  out["id"] = id ? Json(*id) : Json();
  out["code"] = code;
  out["message"] = message;
  return out.dump(-1, ' ', false,
                  Json::error_handler_t::replace);  // a request's text may be no UTF-8
}

void ServeTotals::add(const GenerateResult& r) {
  requests += 1;
  prompt_tokens += r.prompt_tokens;
  tokens += static_cast<int64_t>(r.ids.size());
  prompt_ms += milliseconds(r.prompt_ns);
  predicted_ms += milliseconds(r.predicted_ns);
  prefill.add(r.prefill);
  decode.add(r.decode);
  draft.experts += r.draft.experts;
  draft.dense_bytes += r.draft.dense_bytes;
}

std::string stats_event(int64_t id, const ServeTotals& totals, double uptime_ms) {
  Json out = event("stats");
  out["id"] = id;
  out["uptime_ms"] = uptime_ms;
  out["requests"] = totals.requests;
  out["prompt_tokens"] = totals.prompt_tokens;
  out["prompt_ms"] = totals.prompt_ms;
  out["tokens"] = totals.tokens;
  out["predicted_ms"] = totals.predicted_ms;
  out["counters"] = counters_of(totals.decode, totals.prefill, totals.draft);
  return out.dump();
}

}  // namespace rota
