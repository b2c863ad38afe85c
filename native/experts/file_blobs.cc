// Expert blobs as spans of GGUF files.
#include "experts/file_blobs.h"

#include <algorithm>

#include "base/check.h"

namespace rota {

FileBlobs::FileBlobs(const WeightSource& weights, Half half) : weights_(weights), half_(half) {
  const Config& config = weights.config();
  layers_ = half == Half::kTarget ? config.layers : config.draft_stages;
  experts_ = half == Half::kTarget ? config.experts : config.draft_experts;
}

const ExpertBlob& FileBlobs::blob(int layer, int expert) const {
  return half_ == Half::kTarget ? weights_.expert(layer, expert)
                                : weights_.draft_expert(layer, expert);
}

Result<std::unique_ptr<FileBlobs>> FileBlobs::open(const WeightSource& weights, Half half) {
  std::unique_ptr<FileBlobs> blobs(new FileBlobs(weights, half));
  for (const std::string& path : weights.files()) {
    ROTA_ASSIGN_OR_RETURN(DirectFile file, DirectFile::open(path));
    if (!file.direct() && blobs->why_buffered_.empty()) {
      blobs->why_buffered_ = path + ": " + file.why_buffered();
    }
    blobs->files_.push_back(std::move(file));
  }
  const Config& config = weights.config();
  for (int l = 0; l < blobs->layers_; ++l) {
    for (int e = 0; e < blobs->experts_; ++e) {
      const ExpertBlob& b = blobs->blob(l, e);
      ROTA_ASSIGN_OR_RETURN(
          const BlobLayout layout,
          blob_layout(b.format[0], b.format[1], b.format[2], config.dim, config.moe_inter));
      ROTA_CHECK(layout.bytes == b.bytes && layout.up_offset == b.part_offset[1] &&
                     layout.down_offset == b.part_offset[2],
                 "layer", l, "expert", e, "bytes", b.bytes, "expected", layout.bytes);
      blobs->layouts_.push_back(layout);
      blobs->total_bytes_ += layout.bytes;
      blobs->largest_bytes_ = std::max(blobs->largest_bytes_, layout.bytes);
    }
  }
  return blobs;
}

Status FileBlobs::read(int layer, int expert, uint64_t offset, uint64_t bytes, uint8_t* dst) const {
  const ExpertBlob& b = blob(layer, expert);
  uint64_t span_begin = 0;
  for (const FileSpan& span : b.spans) {
    if (bytes == 0) break;
    const uint64_t span_end = span_begin + span.bytes;
    if (offset < span_end) {
      const uint64_t take = std::min(bytes, span_end - offset);
      const DirectFile& file = files_[static_cast<size_t>(span.file)];
      ROTA_RETURN_IF_ERROR(file.read(span.offset + (offset - span_begin), take, dst));
      offset += take;
      bytes -= take;
      dst += take;
    }
    span_begin = span_end;
  }
  ROTA_CHECK(bytes == 0, "layer", layer, "expert", expert, "past the end by", bytes);
  return Status();
}

}  // namespace rota
