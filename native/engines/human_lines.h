// The lines of the Strata family for people and log parsers, on stderr. Owns their layout; every
// number comes from the same values as the events.
#pragma once

#include <string>

#include "decode/request.h"
#include "experts/placement.h"

namespace rota {

// "tier: host, 64 resident slots, arena 0.01 GiB (64 experts), file tier 128; load 0.4 s"
std::string tier_line(const std::string& device, const Placement& placement, double load_s);
// "serve: prompt 470 tokens (0 reused) in 3.30 s = 142.42 tok/s"
std::string prompt_line(const GenerateResult& result);
// "serve: 149 tokens in 2.79 s = 53.00 tok/s | experts: 38543 hit, 5857 cpu, 0 pcie, 0 file"
// and ", 12 skipped" where a lossy knob dropped some
std::string decode_line(const GenerateResult& result);
// "serve: DSpark 44 passes, 3.39 tokens/pass"
std::string speculation_line(const GenerateResult& result);

}  // namespace rota
