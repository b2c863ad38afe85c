// The ready event.
#include "engines/strata/ready.h"

#include <map>
#include <nlohmann/json.hpp>

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json model_of(const StrataEngine& engine) {
  const Config& config = engine.weights().config();
  return {{"name", config.name},
          {"synthetic", text_or_null(config.synthetic)},
          {"family", family_name(engine.weights().family())},
          {"layers", config.layers},
          {"moe_layers", config.layers},
          {"experts", config.experts},
          {"top_k", config.top_k},
          {"vocab", config.vocab},
          {"draft_block", config.draft_stages > 0 ? config.draft_block : 0}};
}

// Experts by format, and the bytes of one; a format whose blobs differ in size has no single size.
void formats_of(const StrataEngine& engine, Json& out) {
  std::map<std::string, std::pair<int, std::optional<uint64_t>>> formats;
  const FileBlobs& blobs = engine.blobs();
  for (int l = 0; l < blobs.layers(); ++l) {
    for (int e = 0; e < blobs.experts(); ++e) {
      const BlobLayout& layout = blobs.layout(l, e);
      auto [entry, fresh] =
          formats.try_emplace(blob_class_name(layout.tally_class), 0, layout.bytes);
      ++entry->second.first;
      if (entry->second.second != layout.bytes) entry->second.second.reset();
    }
  }
  out["formats"] = Json::object();
  out["blob_bytes"] = Json::object();
  for (const auto& [name, entry] : formats) {
    out["formats"][name] = entry.first;
    if (entry.second) out["blob_bytes"][name] = *entry.second;
  }
}

Json sizes_of(const StrataEngine& engine) {
  const Placement& placement = engine.experts().placement();
  return {{"slots_bytes", placement.slots_bytes()},
          {"slots", placement.count(Tier::kSlot)},
          {"pinned_slots", placement.pinned()},
          {"arena_bytes", placement.arena_bytes()},
          {"arena_experts", placement.count(Tier::kArena)},
          {"arena_in_place", engine.experts().in_place()},
          {"arena_locked", engine.experts().arena_unlocked().empty()},
          {"file_experts", placement.count(Tier::kFile)},
          {"file_direct", engine.blobs().why_buffered().empty()},
          {"expert_scratch_bytes", engine.expert_scratch_bytes()},
          {"draft_expert_bytes", engine.draft_expert_bytes()},
          {"kv_bytes", engine.model().kv_bytes()},
          {"dense_bytes", engine.model().dense_bytes()},
          {"engram_bytes", engine.model().engram_bytes()},
          {"ctx", engine.options().ctx}};
}

Json knobs_of(const StrataEngine& engine) {
  const StrataOptions& o = engine.options();
  const auto on_off = [](bool on) { return on ? "on" : "off"; };
  const TieredExperts& experts = engine.experts();
  const double pcie = o.pcie.machine ? balanced_share(experts.single_costs()) : o.pcie.share;
  const double batch_pcie =
      o.batch_pcie.machine ? balanced_share(experts.batch_costs()) : o.batch_pcie.share;
  Json out = machine_knobs(o.machine, engine.threads());
  const Json rest{{"slots", size_text(o.slots)},
                  {"arena", size_text(o.arena)},
                  {"arena-in-place", on_off(engine.experts().in_place())},
                  {"margin", size_text(o.margin)},
                  {"assume-memory", o.assume_memory ? Json(*o.assume_memory) : Json()},
                  {"rank", o.rank_file},
                  {"pin-share", o.pin_share},
                  {"dump-routes", o.dump_routes},
                  {"lru-window", o.lru_window},
                  {"pcie", pcie},
                  {"batch-pcie", batch_pcie},
                  {"prefetch", o.prefetch},
                  {"file-readers", o.file_readers},
                  {"route-bias", o.route_bias},
                  {"route-bias-file", o.route_bias_file},
                  {"prompt-bias", o.prompt_bias},
                  {"skip-miss", o.skip_miss},
                  {"skip-file", o.skip_file},
                  {"renorm-skip", on_off(o.renorm_skip)},
                  {"depth", engine.depth()},
                  {"conf", o.confidence},
                  {"ctx", o.ctx},
                  {"keep", o.keep > 0 ? o.keep_file + ":" + std::to_string(o.keep) : ""},
                  {"dump-draft-counts", o.dump_draft_counts},
                  {"prompt-batch", o.prompt_batch},
                  {"step-max", o.step_max},
                  {"kv", kv_kind_name(o.kv)},
                  {"kv-quant", on_off(o.kv_quant)},
                  {"act-quant", on_off(o.act_quant)},
                  {"draft-oracle", o.draft_oracle},
                  {"draft-corrupt", o.draft_corrupt},
                  {"draft-accept", o.draft_accept ? Json(*o.draft_accept) : Json("off")},
                  {"assume-accept", o.assume_accept ? Json(*o.assume_accept) : Json("off")},
                  {"ledger", o.ledger}};
  out.update(rest);
  return out;
}

Json rank_of(const StrataEngine& engine) {
  if (engine.rank_sha256().empty()) return {{"order", "index"}};
  return {
      {"order", "file"}, {"file", engine.options().rank_file}, {"sha256", engine.rank_sha256()}};
}

// What was chosen where a knob leaves something open, with the numbers that it follows from.
Json chosen_of(const StrataEngine& engine) {
  Json out = Json::object();
  if (const auto& budget = engine.budget()) {
    out["slots"] = {
        {"available", budget->available}, {"limit", budget->limit},   {"program", budget->program},
        {"dense", budget->dense},         {"draft", budget->draft},   {"kv", budget->kv},
        {"scratch", budget->scratch},     {"margin", budget->margin}, {"arena", budget->arena},
        {"experts", budget->experts},     {"slots", budget->slots()}};
  }
  if (const auto kv = engine.kv_in_slots()) {
    const uint64_t size = engine.options().slots.bytes;
    out["slots"] = {{"size", size}, {"kv", *kv}, {"slots", size - *kv}};
  }
  const auto split = [](const MissCosts& costs) {
    return Json{{"copy_us", costs.copy_ns * 1e-3},
                {"cpu_us", costs.cpu_ns * 1e-3},
                {"share", balanced_share(costs)}};
  };
  const TieredExperts& experts = engine.experts();
  if (engine.options().pcie.machine) out["pcie"] = split(experts.single_costs());
  if (engine.options().batch_pcie.machine) out["batch-pcie"] = split(experts.batch_costs());
  return out;
}

Json environment_of(const StrataOptions& options) {
  Json out = Json::array();
  for (const FlagFromEnvironment& from : options.from_environment) {
    out.push_back(
        {{"knob", from.flag.substr(2)}, {"variable", from.variable}, {"value", from.value}});
  }
  return out;
}

}  // namespace

std::vector<std::string> lossy_knobs(const StrataOptions& options) {
  std::vector<std::string> names;
  if (options.route_bias != 0) names.emplace_back("route-bias");
  if (options.route_bias_file != 0) names.emplace_back("route-bias-file");
  if (options.prompt_bias != 0) names.emplace_back("prompt-bias");
  if (options.skip_miss != 0) names.emplace_back("skip-miss");
  if (options.skip_file != 0) names.emplace_back("skip-file");
  if (options.renorm_skip) names.emplace_back("renorm-skip");
  if (options.assume_accept) names.emplace_back("assume-accept");
  return names;
}

std::string ready_event(const StrataEngine& engine) {
  Json out{{"event", "ready"},
           {"engine", "strata"},
           {"version", kStrataVersion},
           {"device", engine.device().name()},
           {"fingerprint", engine.fingerprint()},
           {"draft_fingerprint", text_or_null(engine.draft_fingerprint())},
           {"subject", text_or_null(engine.subject())},
           {"model", model_of(engine)}};
  formats_of(engine, out);
  out["sizes"] = sizes_of(engine);
  out["threads"] = engine.threads();
  out["machine"] = machine_json(engine.options().machine, engine.machine());
  out["knobs"] = knobs_of(engine);
  out["rank"] = rank_of(engine);
  out["chosen"] = chosen_of(engine);
  out["environment"] = environment_of(engine.options());
  out["lossy"] = lossy_knobs(engine.options());
  out["load"] = {{"ms", engine.load_ms()}, {"read_bytes", engine.loaded_bytes()}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rota
