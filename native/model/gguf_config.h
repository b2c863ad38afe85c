// GGUF keys <-> Config: architecture "deepseek41" for the model, "dflash" for the DSpark sidecar.
// Owns the key names.
#pragma once

#include "base/status.h"
#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "model/config.h"
#include "model/family.h"

namespace rota {

inline constexpr const char* kModelArchitecture = "deepseek41";
inline constexpr const char* kDraftArchitecture = "dflash";
inline constexpr const char* kEngramArchitecture = "deepseek41-engram";
// Ours: a model of random weights says here what it was made of.
inline constexpr const char* kSyntheticKey = "rota.synthetic";
inline constexpr int kSqrtSoftplus = 4;  // expert_gating_func

// The model's keys, without draft: draft_stages is 0 and ratios has `layers` entries. Validated.
Result<Config> read_config(const Gguf& model, Family family);
// kLoad unless the file says that it is of this architecture.
Status check_architecture(const Gguf& gguf, const char* expected);
// Adds the sidecar's keys to a config of read_config() and validates the whole.
Status read_draft_config(const Gguf& model, const Gguf& sidecar, Config& config);

void write_config(const Config& config, Family family, GgufWriter& writer);
void write_draft_config(const Config& config, GgufWriter& writer);

}  // namespace rota
