// Flags of the tiers.
#include "engines/strata/tier_flags.h"

#include "engines/strata/flag_setters.h"

namespace rota {
namespace {

using namespace setters;

Setter share(ShareValue& target) {
  return [&target](const std::string& text) -> Status {
    if (text == "auto") return target = {true, 0}, Status();
    ROTA_ASSIGN_OR_RETURN(const double value, parse_number(text, 0, 1));
    return target = {false, value}, Status();
  };
}

// on = 1, off = 0, or the factor itself.
Setter factor(double& target) {
  return [&target](const std::string& text) -> Status {
    if (text == "on" || text == "off") return target = text == "on" ? 1 : 0, Status();
    ROTA_ASSIGN_OR_RETURN(target, parse_number(text, 0, 10));
    return Status();
  };
}

Setter assumed(std::optional<uint64_t>& target) {
  return [&target](const std::string& text) -> Status {
    ROTA_ASSIGN_OR_RETURN(const SizeValue size, parse_size(text, {}));
    return target = size.bytes, Status();
  };
}

Setter in_place(std::optional<bool>& target) {
  return [&target](const std::string& text) -> Status {
    target.reset();
    if (text == "auto") return Status();
    ROTA_ASSIGN_OR_RETURN(target, parse_on_off(text));
    return Status();
  };
}

std::vector<Flag> size_flags(StrataOptions& o) {
  return {
      {"--slots", "SIZE",
       "device slots for experts: a size, of which the context's keys are taken first, a share, N "
       "experts (Nx), or auto: what is free (default 25%)",
       size(o.slots, {.share = true, .count = true, .machine = true})},
      {"--arena", "SIZE", "pinned RAM for experts that have no slot (default 100%: all the others)",
       size(o.arena, {.share = true, .count = true})},
      {"--arena-in-place", "auto|on|off",
       "the arena is the model's own mapping, nothing is copied; auto: where its files lie on a "
       "tmpfs and the arena is all (default auto)",
       in_place(o.arena_in_place)},
      {"--margin", "SIZE", "bytes that --slots auto leaves free (default 1GiB)",
       size(o.margin, {})},
      {"--assume-memory", "SIZE",
       "take this for the free memory, where memory grows as it is used; limits still hold",
       assumed(o.assume_memory)},
      {"--rank", "FILE",
       "fill slots and arena in this order: lines \"layer expert\"; beside: MODEL's stem + .rank",
       text(o.rank_file)},
      {"--pin-share", "F", "share of the slots whose experts never leave, best ranks (default 0)",
       number(o.pin_share, 0, 1)},
      {"--dump-routes", "FILE", "write what the router chose, row by row, for rota-model rank",
       text(o.dump_routes)},
  };
}

std::vector<Flag> movement_flags(StrataOptions& o) {
  return {
      {"--lru-window",
       "N",
       "a missed expert enters a slot if it also missed in the layer's last N calls; 0 = never "
       "(default 4)",
       whole(o.lru_window, 0, 1 << 20),
       {{"STRATA_LRU_WIN"}}},
      {"--pcie", "F|auto",
       "share of the arena's misses copied to the device, passes of one row; auto balances it with "
       "the CPU (default 0)",
       share(o.pcie)},
      {"--batch-pcie",
       "F|auto",
       "the same for passes of several rows (default 0)",
       share(o.batch_pcie),
       {{"STRATA_TIER_BATCH_PCIE"}}},
      {"--prefetch", "F",
       "experts a layer read from the file one layer ahead, on average; 0 = none (default 2)",
       number(o.prefetch, 0, 64)},
      {"--file-readers", "N", "threads that read the file tier (default 4)",
       whole(o.file_readers, 1, 64)},
  };
}

std::vector<Flag> lossy_flags(StrataOptions& o) {
  return {
      {"--route-bias", "D", "LOSSY: added to the selection scores of experts in slots (default 0)",
       number(o.route_bias, -100, 100)},
      {"--route-bias-file", "D",
       "LOSSY: subtracted from those of experts that need a file read (default 0)",
       number(o.route_bias_file, -100, 100)},
      {"--prompt-bias",
       "D",
       "LOSSY: factor of both on prompt rows; on = 1, off = 0: exact routing (default 0)",
       factor(o.prompt_bias),
       {{"STRATA_SERVE_PASS_BIAS"}}},
      {"--skip-miss", "T",
       "LOSSY: drop an expert outside the slots that weighs less than T of its row (default 0)",
       number(o.skip_miss, 0, 1)},
      {"--skip-file", "T",
       "LOSSY: the same for experts that need a file read; the larger T holds (default 0)",
       number(o.skip_file, 0, 1)},
      {"--renorm-skip", "on|off",
       "LOSSY: scale what is left of a row to its former weight (default off)",
       on_off(o.renorm_skip)},
  };
}

}  // namespace

std::vector<Flag> tier_flags(StrataOptions& options) {
  std::vector<Flag> flags = size_flags(options);
  for (Flag& flag : movement_flags(options)) flags.push_back(std::move(flag));
  for (Flag& flag : lossy_flags(options)) flags.push_back(std::move(flag));
  return flags;
}

}  // namespace rota
