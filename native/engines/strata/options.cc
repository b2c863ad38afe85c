// Flags of rota-strata.
#include "engines/strata/options.h"

#include <array>
#include <climits>

#include "device/device_choice.h"
#include "engines/strata/drafting_flags.h"
#include "engines/strata/flag_setters.h"
#include "engines/strata/tier_flags.h"
#include "model/weight_source.h"

namespace rota {

namespace {

const char* const kIntro =
    "rota-strata: serves a DeepSeek-V4.1 GGUF with routed experts in three tiers (device slots,\n"
    "pinned arena, file). It speaks JSON lines on stdin and stdout and ends when stdin closes.\n\n"
    "Usage: rota-strata --model PATH [flags]\n\n";

const char* const kExample =
    "\nSIZE is bytes with a unit (512MiB, 1.5GiB); for slots and arena also a share of all routed\n"
    "experts (25%) or a count of them (4288x).\n"
    "LOSSY knobs change what the model says; the engine names those in use when it is ready.\n"
    "[NAME] is an environment variable that gives the value when the flag is not there.\n\n"
    "Example:\n"
    "  echo '{\"id\":1,\"op\":\"generate\",\"prompt\":[5,6,7],\"max_new\":16,\"ignore_eos\":true}' "
    "|\n"
    "    rota-strata --model mini.gguf --slots 25% --arena 25%\n";

using namespace setters;

constexpr std::array<KvKind, 3> kKvKinds = {KvKind::kF32, KvKind::kF16, KvKind::kPacked};

Setter kv_kind(KvKind& target) {
  return [&target](const std::string& value) {
    for (const KvKind kind : kKvKinds) {
      if (value != kv_kind_name(kind)) continue;
      target = kind;
      return Status();
    }
    return Status(Code::kUsage, "\"" + value + "\" is unknown: f32, f16 or packed");
  };
}

Setter device(StrataOptions& o) {
  return [&o](const std::string& value) {
    ROTA_ASSIGN_OR_RETURN(o.cuda, parse_device(value));
    o.device = value;
    return Status();
  };
}

std::vector<Flag> model_flags(StrataOptions& o) {
  return {
      {"--model", "PATH", "GGUF file; of a split model its first shard", text(o.model)},
      {"--engram", "PATH",
       "Engram tables of rota-model extract-engram (default: MODEL's own, else its stem + "
       ".engram.gguf)",
       text(o.engram)},
      {"--device", "NAME",
       "host, or cuda:N for the dense half and the slots on NVIDIA GPU number N (default host)",
       device(o)},
      {"--ctx", "N", "positions a sequence can have (default 4096)", whole(o.ctx, 1, INT_MAX)},
      {"--prompt-batch",
       "N",
       "prompt rows a pass (default 64)",
       whole(o.prompt_batch, 1, 65536),
       {{"STRATA_PROMPT_BATCH"}}},
      {"--step-max",
       "N",
       "most rows of a prompt pass for which a layer's experts run at once; 0 = all (default 0)",
       whole(o.step_max, 0, 65536),
       {{"STRATA_STEP_MAX"}}},
      {"--kv", "KIND",
       "how caches hold keys: f32; packed, the model's own fp8 and fp4 codes, the same bits; f16, "
       "which rounds (default f32)",
       kv_kind(o.kv)},
      {"--kv-quant", "on|off", "the caches' rounding the model was trained with (default on)",
       on_off(o.kv_quant)},
      {"--act-quant", "on|off", "round the inputs of quantised linears to fp8 (default off)",
       on_off(o.act_quant)},
      {"--ledger", "FILE", "write one JSON line a decode pass", text(o.ledger)},
  };
}

}  // namespace

const char* kv_kind_name(KvKind kind) {
  switch (kind) {
    case KvKind::kF32:
      return "f32";
    case KvKind::kF16:
      return "f16";
    case KvKind::kPacked:
      return "packed";
  }
  return "?";
}

Result<ParsedOptions> parse_strata_options(std::span<const char* const> arguments,
                                           const Environment& environment) {
  ParsedOptions parsed;
  StrataOptions& o = parsed.options;
  bool help = false, version = false;
  std::vector<Flag> flags = model_flags(o);
  for (Flag& flag : drafting_flags(o)) flags.push_back(std::move(flag));
  for (Flag& flag : tier_flags(o)) flags.push_back(std::move(flag));
  for (Flag& flag : machine_flags(o.machine)) flags.push_back(std::move(flag));
  const auto set = [](bool& target) {
    return [&target](const std::string&) {
      target = true;
      return Status();
    };
  };
  flags.push_back({"--help", nullptr, "this text", set(help)});
  flags.push_back({"--version", nullptr, "the version", set(version)});
  std::set<std::string> given;
  ROTA_RETURN_IF_ERROR(parse_flags(arguments, flags, &given));
  if (help) parsed.text = kIntro + flags_help(flags) + kExample;
  if (version) parsed.text = std::string("rota-strata ") + kStrataVersion + "\n";
  if (!parsed.text.empty()) return parsed;
  ROTA_ASSIGN_OR_RETURN(o.from_environment, read_environment(flags, given, environment));
  o.environment_notes = bare_names_set(environment);
  if (o.model.empty())
    return Status(Code::kUsage, "--model PATH is missing (--help shows an example)");
  if (o.rank_file == "beside") o.rank_file = rank_path(o.model);
  if (o.draft_corrupt > 0 && o.draft_oracle.empty()) {
    return Status(Code::kUsage, "--draft-corrupt needs --draft-oracle FILE");
  }
  if (o.draft_accept && !o.draft_oracle.empty()) {
    return Status(Code::kUsage, "--draft-accept and --draft-oracle exclude each other");
  }
  if (o.assume_accept && o.scripted()) {
    return Status(Code::kUsage,
                  "--assume-accept is for drafts of the model's own drafter: leave " +
                      std::string(o.draft_accept ? "--draft-accept" : "--draft-oracle") + " out");
  }
  // Rows that are read ahead would stand in the log beside those that are decoded.
  if (o.draft_accept && !o.dump_routes.empty()) {
    return Status(Code::kUsage, "--draft-accept and --dump-routes exclude each other");
  }
  if (o.kv == KvKind::kPacked && !o.kv_quant) {
    return Status(Code::kUsage,
                  "--kv packed holds the codes of --kv-quant: turn that on, or take --kv f16");
  }
  if (o.renorm_skip && o.skip_miss == 0 && o.skip_file == 0) {
    return Status(Code::kUsage, "--renorm-skip needs --skip-miss T or --skip-file T");
  }
  if (o.prompt_bias != 0 && o.route_bias == 0 && o.route_bias_file == 0) {
    return Status(Code::kUsage, "--prompt-bias needs --route-bias D or --route-bias-file D");
  }
  if (const char* root = environment("ROTA_MEMORY_ROOT"); root != nullptr) o.memory_root = root;
  return parsed;
}

}  // namespace rota
