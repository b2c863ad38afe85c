// The ready event.
#include "engines/strata/ready.h"

#include <map>
#include <nlohmann/json.hpp>

#include "engines/human_lines.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

Json model_of(const StrataEngine& engine) {
  const Config& config = engine.weights().config();
  return {{"name", config.name},
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
          {"arena_bytes", placement.arena_bytes()},
          {"arena_experts", placement.count(Tier::kArena)},
          {"arena_locked", engine.experts().arena_unlocked().empty()},
          {"file_experts", placement.count(Tier::kFile)},
          {"file_direct", engine.blobs().why_buffered().empty()},
          {"kv_bytes", engine.model().kv_bytes()},
          {"dense_bytes", engine.model().dense_bytes()},
          {"engram_bytes", engine.model().engram_bytes()},
          {"ctx", engine.options().ctx}};
}

Json knobs_of(const StrataEngine& engine) {
  const StrataOptions& o = engine.options();
  const auto on_off = [](bool on) { return on ? "on" : "off"; };
  const uint64_t all = engine.blobs().total_bytes();
  return {{"threads", engine.threads()},
          {"pin", on_off(o.pin)},
          {"slots", o.slots.of(all)},
          {"arena", o.arena.of(all)},
          {"rank", o.rank_file},
          {"lru-window", o.lru_window},
          {"pcie", o.pcie},
          {"batch-pcie", o.batch_pcie},
          {"prefetch", o.prefetch},
          {"file-readers", o.file_readers},
          {"route-bias", o.route_bias},
          {"route-bias-file", o.route_bias_file},
          {"depth", engine.depth()},
          {"conf", o.confidence},
          {"ctx", o.ctx},
          {"prompt-batch", o.prompt_batch},
          {"kv", kv_kind_name(o.kv)},
          {"kv-quant", on_off(o.kv_quant)},
          {"act-quant", on_off(o.act_quant)},
          {"draft-oracle", o.draft_oracle},
          {"draft-corrupt", o.draft_corrupt},
          {"ledger", o.ledger}};
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
  return names;
}

std::string ready_event(const StrataEngine& engine) {
  Json out{{"event", "ready"},
           {"engine", "strata"},
           {"version", kStrataVersion},
           {"device", engine.device().name()},
           {"fingerprint", engine.weights().fingerprint()},
           {"model", model_of(engine)}};
  formats_of(engine, out);
  out["sizes"] = sizes_of(engine);
  out["threads"] = engine.threads();
  out["knobs"] = knobs_of(engine);
  out["environment"] = environment_of(engine.options());
  out["lossy"] = lossy_knobs(engine.options());
  out["load"] = {{"ms", engine.load_ms()}, {"read_bytes", engine.loaded_bytes()}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> ready_lines(const StrataEngine& engine) {
  const StrataOptions& o = engine.options();
  std::vector<std::string> lines;
  lines.push_back(
      tier_line(engine.device().name(), engine.experts().placement(), engine.load_ms() * 1e-3));
  if (const std::string& why = engine.experts().arena_unlocked(); !why.empty()) {
    lines.push_back("tier: the arena is not locked in memory (" + why +
                    "); raise the memlock limit to lock it");
  }
  if (const std::string& why = engine.blobs().why_buffered(); !why.empty()) {
    lines.push_back("tier: file reads go through the page cache (" + why + ")");
  }
  lines.push_back("serve: ready (ctx " + std::to_string(o.ctx) + ", prompt batch " +
                  std::to_string(o.prompt_batch) + ", DSpark depth " +
                  std::to_string(engine.depth()) + ")");
  for (const FlagFromEnvironment& from : o.from_environment) {
    lines.push_back("serve: " + from.flag + " from the environment: " + from.variable + "=" +
                    from.value);
  }
  for (const std::string& note : o.environment_notes) lines.push_back("serve: " + note);
  std::string names;
  for (const std::string& name : lossy_knobs(o)) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) {
    lines.push_back("serve: LOSSY knobs in use: " + names + "; the output is not the model's own");
  }
  return lines;
}

}  // namespace rota
