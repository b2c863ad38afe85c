// A checkpoint as DeepSeek-V4.1 is released: a folder with config.json, safetensors shards under
// official names and their index, and engram.json. Every tensor that the config implies is found
// and checked when the folder is opened; rows are read when asked for, as blocks of our own
// formats, bit for bit. Knows no GGUF.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/block.h"
#include "formats/safetensors.h"
#include "model/checkpoint_names.h"
#include "model/config.h"
#include "model/tensor_names.h"

namespace rota {

// One matrix, or a vector as a matrix of one row.
struct CheckpointMatrix {
  std::string name;        // official; without ".weight" and ".scale" where it has scales
  std::string model_name;  // of the tensor in our GGUF; empty for a routed expert's
  Stored stored = Stored::kF32;
  // What its rows are without loss: MXFP8 for fp8, MXFP4 for fp4, BF16; F32 also for the BF16 of
  // roles that are F32 in every GGUF.
  Format format = Format::kF32;
  uint64_t columns = 0, rows = 0;

  bool draft = false;
  int layer = -1;            // or draft stage; -1: there once
  Role role = Role::kCount;  // kCount: a routed expert's
  int expert = -1;           // -1: none
  ExpertPart part = ExpertPart::kGate;

  const Safetensors *values_in = nullptr, *scales_in = nullptr;
  const SafetensorsTensor *values = nullptr, *scales = nullptr;  // scales: nullptr where none

  bool is_expert() const { return expert >= 0; }
  uint64_t weights() const { return columns * rows; }
};

class Checkpoint {
 public:
  // kLoad, one line: file, key or tensor, and what is wrong or missing.
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& folder);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  const std::string& folder() const;
  const Config& config() const;  // draft stages included
  bool has_draft() const { return config().draft_stages > 0; }
  // Tensors that are there and that the text model does not read (checkpoint_names.h).
  uint64_t ignored_tensors() const;

  // In the order of target_tensors() and draft_tensors(): everything but routed experts.
  const std::vector<CheckpointMatrix>& dense(bool draft) const;
  // The matrix of a role that the config implies (ROTA_CHECK otherwise). -1 for once-a-model roles.
  const CheckpointMatrix& target(Role role, int layer = -1) const;
  const CheckpointMatrix& draft(Role role, int stage = -1) const;
  // gate and up: moe_inter rows of dim columns; down: dim rows of moe_inter columns.
  const CheckpointMatrix& expert(bool draft, int layer, int expert, ExpertPart part) const;

  // Rows [first, first + count) in matrix.format, bit for bit. out: count *
  // row_bytes(matrix.format, columns). kLoad names file, tensor and row of a scale or value that is
  // no number. Thread-safe; memory for one call is twice its rows.
  Status read_rows(const CheckpointMatrix& matrix, uint64_t first, uint64_t count, void* out) const;
  // The same rows as floats, exactly. out: count * columns.
  Status decode_rows(const CheckpointMatrix& matrix, uint64_t first, uint64_t count,
                     float* out) const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rota
