// The load's lines on stderr.
#include <cstdio>

#include "engines/human_lines.h"
#include "engines/size_value.h"
#include "engines/strata/ready.h"

namespace rota {
namespace {

// Formats differ in size, so a count of slots alone says little.
std::string slots_line(const StrataEngine& engine) {
  const Placement& placement = engine.experts().placement();
  const std::string& sha = engine.rank_sha256();
  std::string line = "tier: slots " + format_size(placement.slots_bytes());
  if (placement.pinned() > 0) line += ", " + std::to_string(placement.pinned()) + " pinned";
  return line + "; experts in " +
         (sha.empty() ? std::string("index order")
                      : "the order of " + engine.options().rank_file + " (sha256 " + sha + ")");
}

// Where slots are not RAM, and how the arena is copied from.
std::string device_line(const StrataEngine& engine) {
  const DeviceTier& tier = engine.experts().device();
  std::string line = std::string("tier: slots lie in the memory of ") + engine.device().name() +
                     ", with scratch " + format_size(tier.device_bytes());
  if (engine.experts().placement().arena_bytes() == 0) return line;
  const std::string& why = tier.arena_note();
  return line + (why.empty() ? "; the arena is registered for copies"
                             : "; the arena is not registered (" + why + "): copies are slow");
}

// The balance supposes that the device works beside the CPU; host has no such device.
std::string split_line(const char* knob, const MissCosts& costs, bool on_host) {
  char text[192];
  if (!costs.known()) return std::string("tier: ") + knob + " auto: the arena is empty, 0";
  std::snprintf(text, sizeof text,
                "tier: %s auto: a copy takes %.1f us, the CPU %.1f us an expert: share %.2f%s",
                knob, costs.copy_ns * 1e-3, costs.cpu_ns * 1e-3, balanced_share(costs),
                on_host ? "; host copies only cost, as both run on the CPU" : "");
  return text;
}

void add_tier_lines(const StrataEngine& engine, std::vector<std::string>& lines) {
  const StrataOptions& o = engine.options();
  const TieredExperts& experts = engine.experts();
  if (engine.budget()) lines.push_back(engine.budget()->line());
  if (const auto kv = engine.kv_in_slots()) lines.push_back(slots_in_line(o.slots.bytes, *kv));
  lines.push_back(tier_line(engine.device().name(), experts.placement(), engine.load_ms() * 1e-3));
  lines.push_back(slots_line(engine));
  if (experts.in_place()) {
    lines.push_back("tier: the arena is in place: experts are taken from the mapping of " +
                    o.model + ", none is copied");
  }
  if (experts.device().computes()) lines.push_back(device_line(engine));
  lines.push_back(machine_line(o.machine, engine.machine()));
  const bool host = o.device == "host";
  if (o.pcie.machine) lines.push_back(split_line("pcie", experts.single_costs(), host));
  if (o.batch_pcie.machine) lines.push_back(split_line("batch-pcie", experts.batch_costs(), host));
  if (const std::string& why = experts.arena_unlocked(); !why.empty()) {
    const uint64_t lockable = engine.memory().lockable;
    const std::string limit =
        lockable == UINT64_MAX ? "" : ", the limit is " + format_size(lockable);
    lines.push_back("tier: the arena of " + format_size(experts.placement().arena_bytes()) +
                    " is not locked in memory (" + why + limit +
                    "); raise the memlock limit to lock it");
  }
  if (const std::string& why = engine.blobs().why_buffered(); !why.empty()) {
    lines.push_back("tier: file reads go through the page cache (" + why + ")");
  }
}

}  // namespace

std::string lossy_line(const StrataOptions& options) {
  std::string names;
  for (const std::string& name : lossy_knobs(options)) names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return "";
  return "serve: LOSSY knobs in use: " + names + "; the output is not the model's own";
}

std::vector<std::string> ready_lines(const StrataEngine& engine) {
  const StrataOptions& o = engine.options();
  std::vector<std::string> lines;
  add_tier_lines(engine, lines);
  lines.push_back("serve: ready (ctx " + std::to_string(o.ctx) + ", prompt batch " +
                  std::to_string(o.prompt_batch) + ", DSpark depth " +
                  std::to_string(engine.depth()) + ")");
  for (const FlagFromEnvironment& from : o.from_environment) {
    lines.push_back("serve: " + from.flag + " from the environment: " + from.variable + "=" +
                    from.value);
  }
  for (const std::string& note : o.environment_notes) lines.push_back("serve: " + note);
  if (const std::string lossy = lossy_line(o); !lossy.empty()) lines.push_back(lossy);
  if (const std::string subject = engine.subject(); !subject.empty()) {
    lines.push_back("serve: " + subject + " (" + engine.weights().config().synthetic + ")");
  }
  return lines;
}

}  // namespace rota
