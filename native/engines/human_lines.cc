// Lines for people.
#include "engines/human_lines.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "engines/events.h"
#include "engines/size_value.h"

namespace rota {
namespace {

[[gnu::format(printf, 1, 2)]] std::string format(const char* layout, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, layout);
  std::vsnprintf(text, sizeof text, layout, arguments);
  va_end(arguments);
  return text;
}

std::string timed(int64_t tokens, int64_t ns) {
  const auto value = per_second(tokens, ns);
  const std::string rate = value ? format("%.2f", *value) : "n/a";
  return format("in %.2f s = %s tok/s", static_cast<double>(ns) * 1e-9, rate.c_str());
}

}  // namespace

std::string tier_line(const std::string& device, const Placement& placement, double load_s) {
  return format("tier: %s, %d resident slots, arena %s (%d experts), file tier %d; load %.1f s",
                device.c_str(), placement.count(Tier::kSlot),
                format_gib(placement.arena_bytes()).c_str(), placement.count(Tier::kArena),
                placement.count(Tier::kFile), load_s);
}

std::string prompt_line(const GenerateResult& r) {
  return format("serve: prompt %d tokens (0 reused) ", r.prompt_tokens) +
         timed(r.prompt_tokens, r.prompt_ns);
}

std::string decode_line(const GenerateResult& r) {
  const SourceTally& source = r.decode.experts.source;
  const int64_t skipped = r.decode.experts.skipped;
  const auto tokens = static_cast<int64_t>(r.ids.size());
  return format("serve: %" PRId64 " tokens ", tokens) + timed(tokens - 1, r.predicted_ns) +
         format(" | experts: %" PRId64 " hit, %" PRId64 " cpu, %" PRId64 " pcie, %" PRId64 " file",
                source[Source::kHit], source[Source::kCpu], source[Source::kPcie],
                source[Source::kFile]) +
         (skipped > 0 ? format(", %" PRId64 " skipped", skipped) : "");
}

std::string speculation_line(const GenerateResult& r) {
  if (r.decode.passes == 0) return "serve: DSpark 0 passes, n/a tokens/pass";
  return format("serve: DSpark %" PRId64 " passes, %.2f tokens/pass", r.decode.passes,
                static_cast<double>(r.ids.size()) / static_cast<double>(r.decode.passes));
}

}  // namespace rota
