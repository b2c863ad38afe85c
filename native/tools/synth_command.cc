// rota-model synth: flags -> SyntheticOptions, a look at the disk, a progress line, and what was
// written.
#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/flags.h"
#include "base/text_file.h"
#include "experts/ranking.h"
#include "formats/shard_name.h"
#include "model/synthetic_model.h"
#include "tools/interruption.h"
#include "tools/model_tool.h"
#include "tools/writing.h"

namespace rota {
namespace {

struct Arguments {
  SyntheticOptions options;
  std::string out;
  bool config_named = false;
  bool check_memory = true;
  std::optional<double> hot_experts, hot_lookups;
};

Result<uint64_t> parse_seed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return seed;
  return Status(Code::kUsage, "\"" + text + "\" is not a whole number from 0 to 2^64 - 1");
}

Status set_expert_format(SyntheticOptions& options, const std::string& value) {
  options.mixed_experts = value == "mixed";
  options.expert_format.reset();
  if (options.mixed_experts) return Status();
  ROTA_ASSIGN_OR_RETURN(options.expert_format, parse_format(value));
  return Status();
}

Status set_values(SyntheticOptions& options, const std::string& value) {
  for (const ValueKind kind : kValueKinds) {
    if (value != value_kind_name(kind)) continue;
    return options.values = kind, Status();
  }
  return Status(Code::kUsage, "\"" + value + "\" is none of normal, grid and random");
}

// Both shares or none; 0 of the experts turns off what the config has.
Status set_skew(Arguments& a) {
  if (!a.hot_experts && !a.hot_lookups) return Status();
  if (a.hot_experts == 0.0 && !a.hot_lookups) return a.options.skew = SkewOptions{}, Status();
  if (!a.hot_experts || !a.hot_lookups) {
    return Status(Code::kUsage, "--hot-experts and --hot-lookups need each other");
  }
  a.options.skew = SkewOptions{*a.hot_experts, *a.hot_lookups};
  return Status();
}

Status check_room(const Arguments& a, uint64_t bytes) {
  ROTA_RETURN_IF_ERROR(check_disk(a.out, bytes, "the model"));
  return a.check_memory ? check_tmpfs(a.out, bytes, "the model") : Status();
}

// For rota-strata --rank FILE --slots 4288x.
Result<std::string> write_rank(const SyntheticFiles& files, const std::string& out) {
  if (files.ranking.empty()) return std::string();
  int experts = 0;
  for (const auto& [layer, expert] : files.ranking) experts = std::max(experts, expert + 1);
  Ranking ranking;
  for (const auto& [layer, expert] : files.ranking) ranking.push_back(layer * experts + expert);
  const std::string path = model_stem(out) + ".rank";
  const std::string head = "# the order of the router's biases: \"layer expert\"\n";
  ROTA_RETURN_IF_ERROR(write_text_file(path, head + ranking_text(ranking, experts)));
  return path;
}

std::string config_list() {
  std::string list;
  for (const std::string& name : config_names()) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::vector<Flag> synth_flags(Arguments& a) {
  return {
      {"--config", "NAME",
       "the shape: mini-xs, mini-xs2, mini-s, mini-four, mini-m, wide, or v4.1-flash, "
       "DeepSeek-V4.1-Flash's own",
       [&a](const std::string& v) {
         return a.options.config = v, a.config_named = true, Status();
       }},
      {"--out", "FILE", "STEM.gguf; the DSpark sidecar is STEM.dspark.gguf beside it",
       [&a](const std::string& v) { return a.out = v, Status(); }},
      {"--image-token", "ID", "name this token as the one that stands for images (default: none)",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.image_id, parse_int(v, 0, INT_MAX));
         return Status();
       }},
      {"--seed", "N", "every weight follows from its tensor's name and this (default 1)",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.seed, parse_seed(v));
         return Status();
       }},
      {"--expert-format", "F", "a block format, or mixed: 42.8 % PTQ1_0, 39.2 % Q2_0, 18.0 % Q3_K",
       [&a](const std::string& v) { return set_expert_format(a.options, v); }},
      {"--dense-format", "F", "of the other matrices; rows of no whole blocks and vectors stay F32",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.dense_format, parse_format(v));
         return Status();
       }},
      {"--engram-format", "F", "of the Engram tables (default: as --dense-format)",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.engram_format, parse_format(v));
         return Status();
       }},
      {"--engram-tables", "on|off", "off: without them, for a model whose tables are another file",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.engram_tables, parse_on_off(v));
         return Status();
       }},
      {"--layout", "L",
       "names and keys of the family ours (default; formats differ per expert), a or b",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.family, parse_family(v));
         return Status();
       }},
      {"--values", "V",
       "normal; grid: few values, the same in every format; random: blocks of random bits, as fast "
       "as memory (default normal; random for wide and v4.1-flash)",
       [&a](const std::string& v) { return set_values(a.options, v); }},
      {"--layers", "N", "the first N layers alone, and a drafter that listens to the last of them",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.layers, parse_int(v, 1, 1024));
         return Status();
       }},
      {"--engram-rows", "N", "about so many rows in each Engram table (default: the config's)",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.engram_rows, parse_int(v, 1, INT_MAX));
         return Status();
       }},
      {"--hot-experts", "SHARE",
       "routers want this share of the experts ... (0: all alike; default: the config's)",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.hot_experts, parse_number(v, 0, 1));
         return Status();
       }},
      {"--hot-lookups", "SHARE",
       "... for this share of the lookups; their order is written to STEM.rank",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.hot_lookups, parse_number(v, 0, 1));
         return Status();
       }},
      {"--check-memory", "on|off",
       "off: do not ask whether the memory has room for files on a tmpfs, where it grows as it is "
       "used",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.check_memory, parse_on_off(v));
         return Status();
       }},
      {"--shards", "N", "split into STEM-00001-of-0000N.gguf (default 1: not split)",
       [&a](const std::string& v) -> Status {
         ROTA_ASSIGN_OR_RETURN(a.options.shards, parse_int(v, 1, 99999));
         return Status();
       }},
  };
}

}  // namespace

std::string synth_help() {
  Arguments arguments;
  return flags_help(synth_flags(arguments));
}

Status synth_command(std::span<const char* const> arguments) {
  Arguments parsed;
  ROTA_RETURN_IF_ERROR(parse_flags(arguments, synth_flags(parsed)));
  if (!parsed.config_named)
    return Status(Code::kUsage, "--config is missing; there are " + config_list());
  if (parsed.out.empty()) return Status(Code::kUsage, "--out is missing: --out FILE.gguf");
  ROTA_RETURN_IF_ERROR(set_skew(parsed));
  parsed.options.before_write = [&parsed](uint64_t bytes) { return check_room(parsed, bytes); };
  const auto begin = now_ns();
  Progress progress;
  parsed.options.progress = [&progress](uint64_t done, uint64_t total) {
    progress("writing weights", 0, done, total);
  };
  // Last of all it ends the process, when what was begun is removed.
  const Interruption interruption;
  parsed.options.stopped = [&interruption] { return interruption.came(); };
  ROTA_ASSIGN_OR_RETURN(const SyntheticFiles files,
                        write_synthetic_model(parsed.options, parsed.out));
  ROTA_ASSIGN_OR_RETURN(const std::string rank, write_rank(files, parsed.out));
  const double seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  for (const std::string& file : files.model) std::printf("%s\n", file.c_str());
  std::printf("%s\n", files.sidecar.c_str());
  if (!rank.empty()) std::printf("%s\n", rank.c_str());
  std::fprintf(
      stderr, "%s: %.1f MB in %.2f s%s\n", parsed.options.config.c_str(),
      static_cast<double>(files.bytes) * 1e-6, seconds,
      files.tokenizer ? "" : "; the vocabulary is too small for a tokenizer, none was written");
  return Status();
}

}  // namespace rota
