// The opened model: GGUF file(s) plus the DSpark sidecar, every tensor found and checked against
// the config. Owns the mappings. Gives dense tensors as pointers and routed experts as file spans;
// computes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_identity.h"
#include "base/status.h"
#include "formats/block.h"
#include "formats/gguf.h"
#include "model/config.h"
#include "model/tensor_names.h"

namespace rota {

struct WeightTensor {
  Format format = Format::kF32;
  std::array<uint64_t, 2> ne = {0, 1};  // ne[0] row length, ne[1] rows
  const uint8_t* data = nullptr;        // valid as long as the WeightSource; mapped where it can be
  int file = -1;                        // index into files(): where it begins
  uint64_t offset = 0, bytes = 0;       // in that file
  uint64_t row_bytes = 0;
  // An Engram table that lies in several raw parts has no `data`, but stretches of whole rows.
  struct Stretch {
    uint64_t first_row;
    const uint8_t* data;
  };
  std::vector<Stretch> stretches;  // ascending
  const uint8_t* row(uint64_t index) const;
  const float* f32() const {
    return reinterpret_cast<const float*>(data);
  }  // only where format is kF32
};

struct FileSpan {
  int file = -1;
  uint64_t offset = 0, bytes = 0;
};

// One routed expert: gate rows [moe_inter x dim], up rows [moe_inter x dim], down rows [dim x
// moe_inter], in this order. The blob is the concatenation of its spans; the part offsets are into
// that concatenation.
struct ExpertBlob {
  std::array<Format, 3> format = {};  // by ExpertPart: gate, up, down
  std::array<uint64_t, 3> part_offset = {};
  std::array<uint64_t, 3> part_bytes = {};
  std::vector<FileSpan> spans;
  uint64_t bytes = 0;
};

struct WeightSourceOptions {
  std::string draft_path;  // empty: STEM.dspark.gguf beside the model if it exists
  bool want_draft = true;  // false: no sidecar, config().draft_stages is 0
  // The Engram tables, from a file of rota-model extract-engram. Empty: the model's own, or
  // STEM.engram.gguf beside a model that has none.
  std::string engram_path;
};

class WeightSource {
 public:
  // kLoad, one line naming file and tensor or key.
  static Result<std::unique_ptr<WeightSource>> open(const std::string& path,
                                                    const WeightSourceOptions& options = {});
  // The model that is open already; `path` says where sidecar and Engram tables would lie.
  static Result<std::unique_ptr<WeightSource>> of(Gguf model, const std::string& path,
                                                  const WeightSourceOptions& options = {});
  ~WeightSource();
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;

  const Config& config() const;
  bool has_draft() const { return config().draft_stages > 0; }
  Family family() const;
  // As they lie on the disk: model shards, Engram tables of their own file, sidecar; a file in raw
  // parts is its parts.
  const std::vector<std::string>& files() const;
  uint64_t file_bytes(int file) const;

  // The tensor of a role that the config implies (ROTA_CHECK otherwise). layer -1 for once-a-file
  // roles.
  const WeightTensor& target(Role role, int layer = -1) const;
  const WeightTensor& draft(Role role, int stage = -1) const;

  const ExpertBlob& expert(int layer, int expert) const;
  const ExpertBlob& draft_expert(int stage, int expert) const;
  // The span in the mapping.
  const uint8_t* mapped(const FileSpan& span) const;

  // Bytes of all dense tensors (engram tables not among them), engram tables, routed experts; draft
  // stages apart.
  struct Totals {
    uint64_t dense = 0, engram = 0, experts = 0, draft_dense = 0, draft_experts = 0;
  };
  const Totals& totals() const;

  // Of files(), as they were opened.
  std::vector<FileIdentity> identities() const;

  // 64 hex digits: SHA-256 over names, formats, shapes, config keys, file sizes and sampled pages
  // of what decides the answers: model and Engram tables. Computed when asked.
  std::string fingerprint() const;
  // The same of the sidecar, which decides only what is drafted; empty where none is open.
  std::string draft_fingerprint() const;

 private:
  struct Impl;
  explicit WeightSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// STEM.dspark.gguf for STEM.gguf or STEM-00001-of-0000N.gguf, or a raw part of either.
std::string sidecar_path(const std::string& model_path);
// STEM.engram.gguf, likewise.
std::string engram_table_path(const std::string& model_path);
// STEM.rank, likewise.
std::string rank_path(const std::string& model_path);

}  // namespace rota
