// Writes a checkpoint as our GGUF and its DSpark sidecar: keys, tokenizer, and the tensors of a
// plan. Streams: memory is a few megabytes, whatever the checkpoint's size. Both files appear
// whole, or neither.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/checkpoint.h"
#include "model/checkpoint_plan.h"

namespace rota {

// Encodes rows [first, first + count) of a matrix; out has count * row_bytes(format, columns)
// bytes.
using RowEncoder = std::function<Status(const CheckpointMatrix& matrix, Format format,
                                        uint64_t first, uint64_t count, uint8_t* out)>;

struct ConvertOptions {
  std::string out;  // STEM.gguf; the sidecar is STEM.dspark.gguf. Neither may exist
  PlanFormats formats;
  // Unset: rows of a matrix's own format are copied bit for bit, others decoded and rounded to
  // nearest (encode_row).
  RowEncoder encode;
  // Rows are given to `encode` in runs of about so many weights, one whole row at least.
  uint64_t weights_at_once = uint64_t{1} << 20;
  // Called with the bytes of all files before the first is written; an error stops there.
  std::function<Status(uint64_t bytes)> before_write;
  // Asked now and then; true: kCancelled, and nothing is left.
  std::function<bool()> stopped;
  // Called now and then with bytes of tensors written and to write.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

struct ConvertedFiles {
  std::string model, sidecar;  // sidecar: empty without draft stages
  uint64_t bytes = 0;
  // Why the GGUF has no tokenizer keys; empty where it has them.
  std::string no_tokenizer;
};

// kUsage for a bad `out` or a format that rows are no whole blocks of; kLoad for what the
// checkpoint holds; kIo for the disk.
Result<ConvertedFiles> convert_checkpoint(const Checkpoint& checkpoint,
                                          const ConvertOptions& options);

}  // namespace rota
