// The command line of rota-strata. Owns flags, ranges and defaults; loads nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/status.h"
#include "engines/size_value.h"
#include "engines/strata/machine.h"
#include "model/model.h"

namespace rota {

// A share of the arena's misses, or what the machine finds best.
struct ShareValue {
  bool machine = false;
  double share = 0;
};

struct StrataOptions {
  std::string model, draft, engram, device = "host", rank_file, ledger, draft_oracle, dump_routes;
  std::string keep_file, dump_draft_counts;
  std::optional<int> cuda;  // the GPU that `device` names; absent: the host
  int keep = 0;             // of a draft stage's experts, the heaviest by keep_file; 0 = all
  MachineOptions machine;
  SizeValue slots = SizeValue::share_of_all(0.25);  // of all routed experts
  SizeValue arena = SizeValue::share_of_all(1);
  SizeValue margin{SizeValue::Kind::kBytes, uint64_t{1} << 30, 0, 0};
  std::optional<uint64_t> assume_memory;
  std::string memory_root;             // for tests: /proc and /sys of another machine
  std::optional<bool> arena_in_place;  // absent: where the model lies in memory
  double pin_share = 0;
  int lru_window = 4;
  ShareValue pcie, batch_pcie;
  double prefetch = 2;
  double route_bias = 0, route_bias_file = 0, prompt_bias = 0;
  double skip_miss = 0, skip_file = 0;
  bool renorm_skip = false;
  std::optional<int> depth;  // absent: 5, or the drafter's block, or 0 without a drafter
  double confidence = 0.6;
  int ctx = 4096;
  int prompt_batch = 64;
  int step_max = 0;  // 0 = a layer's experts run for all rows of a pass at once
  KvKind kv = KvKind::kF32;
  bool kv_quant = true, act_quant = false;
  int file_readers = 4;
  int draft_corrupt = 0;
  std::optional<double> draft_accept;
  std::optional<double> assume_accept;
  // Drafts are a test's: no sidecar is loaded.
  bool scripted() const { return !draft_oracle.empty() || draft_accept.has_value(); }

  std::vector<FlagFromEnvironment> from_environment;
  std::vector<std::string> environment_notes;  // what is set there and not read
};

const char* kv_kind_name(KvKind kind);

struct ParsedOptions {
  StrataOptions options;
  std::string text;  // --help or --version: print it and end with 0
};

inline constexpr const char* kStrataVersion = "0.1.0";

// A flag that is not among the arguments takes its value from the family's environment variables.
Result<ParsedOptions> parse_strata_options(std::span<const char* const> arguments,
                                           const Environment& environment);

}  // namespace rota
