// The JSON of events and the lines on stderr, against the values they are made of.
#include "engines/events.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engines/human_lines.h"

namespace rota {
namespace {

// Every number differs, so that a field that shows another's value is seen.
GenerateResult distinct_result() {
  GenerateResult r;
  r.ids = {3, 4, 5};
  r.prompt_tokens = 7;
  r.prompt_ns = 2'000'000'000;
  r.ttft_ns = 2'500'000'000;
  r.predicted_ns = 500'000'000;
  r.pass_ms = {240.5, 250.25};
  r.pass_tokens = {1, 1};
  int64_t next = 1000;
  for (PassTotals* t : {&r.decode, &r.prefill}) {
    t->passes = next++;
    t->rows = next++;
    t->offered = next++;
    t->accepted = next++;
    t->experts.lookups = next++;
    t->experts.skipped = next++;
    t->experts.late = next++;
    for (SourceTally* s : {&t->experts.source, &t->experts.distinct, &t->experts.bytes}) {
      for (int64_t& n : s->of) n = next++;
    }
    t->experts.prefetch = {next, next + 1, next + 2, next + 3};
    next += 4;
    t->experts.admitted = next++;
    t->experts.demoted = next++;
    t->dense_bytes = next++;
    t->engram_rows = next++;
    t->engram_bytes = next++;
  }
  r.draft = {{next, next + 1}, next + 2};
  r.logits_sha256 = "abc";
  return r;
}

}  // namespace

TEST_CASE("done has every counter under its own name") {
  const GenerateResult r = distinct_result();
  const auto done = nlohmann::json::parse(done_event(5, r, {"skip-miss"}, "half a subject"));
  CHECK(done["event"] == "done");
  CHECK(done["id"] == 5);
  CHECK(done["ids"] == nlohmann::json({3, 4, 5}));
  CHECK(done["finish"] == "length");
  CHECK(done["lossy"] == nlohmann::json({"skip-miss"}));
  CHECK(done["ttft_ms"] == 2500.0);
  CHECK(done["timings"]["prompt_per_second"] == 3.5);
  CHECK(done["timings"]["predicted_per_second"] == 4.0);
  CHECK(done["timings"]["draft_n"] == r.decode.offered);
  CHECK(done["timings"]["draft_n_accepted"] == r.decode.accepted);
  const auto& c = done["counters"];
  const auto same_work = [](const nlohmann::json& json, const PassTotals& t) {
    CHECK(json["passes"] == t.passes);
    CHECK(json["rows"] == t.rows);
    CHECK(json["lookups"] == t.experts.lookups);
    CHECK(json["skipped"] == t.experts.skipped);
    const char* names[] = {"hit", "pcie", "cpu", "file"};
    for (size_t s = 0; s < kSources; ++s) {
      CHECK(json[names[s]] == t.experts.source.of[s]);
      CHECK(json["distinct"][names[s]] == t.experts.distinct.of[s]);
      CHECK(json["bytes"][names[s]] == t.experts.bytes.of[s]);
    }
    CHECK(json["bytes"]["dense"] == t.dense_bytes);
    CHECK(json["bytes"]["engram"] == t.engram_bytes);
  };
  same_work(c, r.decode);
  same_work(c["prefill"], r.prefill);
  CHECK(c["late"] == r.decode.experts.late);
  CHECK(c["offered"] == r.decode.offered);
  CHECK(c["accepted"] == r.decode.accepted);
  CHECK(c["admitted"] == r.decode.experts.admitted);
  CHECK(c["demoted"] == r.decode.experts.demoted);
  CHECK(c["engram"]["rows"] == r.decode.engram_rows);
  CHECK(c["prefetch"]["issued"] == r.decode.experts.prefetch.issued);
  CHECK(c["prefetch"]["useful"] == r.decode.experts.prefetch.useful);
  CHECK(c["prefetch"]["late"] == r.decode.experts.prefetch.late);
  CHECK(c["prefetch"]["unused_bytes"] == r.decode.experts.prefetch.unused_bytes);
  CHECK(c["draft"]["lookups"] == r.draft.experts.lookups);
  CHECK(c["draft"]["bytes"] == r.draft.experts.bytes);
  CHECK(c["draft"]["dense_bytes"] == r.draft.dense_bytes);
}

TEST_CASE("a rate of nothing is null and n/a, never 0") {
  GenerateResult r;
  r.ids = {3};
  r.prompt_tokens = 1;
  const auto done = nlohmann::json::parse(done_event(1, r, {}, ""));
  CHECK(done["timings"]["predicted_per_second"].is_null());
  CHECK(done["timings"]["prompt_per_second"].is_null());
  CHECK(done["digest"]["logits"].is_null());
  CHECK(decode_line(r) ==
        "serve: 1 tokens in 0.00 s = n/a tok/s | experts: 0 hit, 0 cpu, 0 pcie, 0 file");
  CHECK(speculation_line(r) == "serve: DSpark 0 passes, n/a tokens/pass");
}

TEST_CASE("totals are sums of requests") {
  ServeTotals totals;
  totals.add(distinct_result());
  totals.add(distinct_result());
  const GenerateResult one = distinct_result();
  const auto stats = nlohmann::json::parse(stats_event(2, totals, 12.5));
  CHECK(stats["requests"] == 2);
  CHECK(stats["tokens"] == 6);
  CHECK(stats["prompt_tokens"] == 14);
  CHECK(stats["predicted_ms"] == 1000.0);
  const auto done = nlohmann::json::parse(done_event(1, one, {}, ""))["counters"].flatten();
  const auto doubled = stats["counters"].flatten();
  for (const auto& [path, value] : done.items()) {
    CAPTURE(path);
    CHECK(doubled[path].get<int64_t>() == 2 * value.get<int64_t>());
  }
}

TEST_CASE("the family's lines") {
  GenerateResult r;
  r.ids.assign(149, 5);
  r.prompt_tokens = 470;
  r.prompt_ns = 3'300'000'000;
  r.predicted_ns = 2'792'000'000;
  r.decode.passes = 44;
  r.decode.experts.source.of = {38543, 0, 5857, 3};
  CHECK(prompt_line(r) == "serve: prompt 470 tokens (0 reused) in 3.30 s = 142.42 tok/s");
  CHECK(decode_line(r) ==
        "serve: 149 tokens in 2.79 s = 53.01 tok/s | experts: 38543 hit, 5857 cpu, 0 pcie, 3 file");
  CHECK(speculation_line(r) == "serve: DSpark 44 passes, 3.39 tokens/pass");
  PlacementOptions sizes;
  sizes.slots_bytes = 200;
  sizes.arena_bytes = 100;
  const Placement placement(1, 8, std::vector<uint64_t>(8, 100), index_ranking(1, 8), sizes);
  CHECK(tier_line("host", placement, 41.44) ==
        "tier: host, 2 resident slots, arena 0.00 GiB (1 experts), file tier 5; load 41.4 s");
}

TEST_CASE("errors carry their request where there is one, and any text") {
  CHECK(error_event(4, "io", "disk") == R"({"event":"error","id":4,"code":"io","message":"disk"})");
  CHECK(nlohmann::json::parse(error_event(std::nullopt, "malformed", "bad \xff byte"))["id"]
            .is_null());
}

}  // namespace rota
