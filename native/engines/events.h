// The lines that an engine says, from values. Owns the JSON of events and the one vocabulary of
// counters in it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decode/request.h"

namespace rota {

std::string loading_event(uint64_t bytes, uint64_t total);
std::string tokens_event(int64_t id, std::span<const int> ids);
// lossy: names of the knobs in use that change what the model says. subject: what may be concluded
// from the answer where that is not everything; else empty.
std::string done_event(int64_t id, const GenerateResult& result,
                       const std::vector<std::string>& lossy, const std::string& subject);
std::string score_event(int64_t id, const ScoreResult& result);
std::string reset_event(int64_t id);
std::string error_event(const std::optional<int64_t>& id, const std::string& code,
                        const std::string& message);

// Since the start, over all generate requests.
struct ServeTotals {
  int64_t requests = 0, prompt_tokens = 0, tokens = 0;
  double predicted_ms = 0, prompt_ms = 0;
  PassTotals prefill, decode;
  DraftTotals draft;
  void add(const GenerateResult& result);
};
std::string stats_event(int64_t id, const ServeTotals& totals, double uptime_ms);

// n / a rate's seconds; nullopt when nothing was timed.
std::optional<double> per_second(int64_t n, int64_t ns);

}  // namespace rota
