// Expert blobs as spans of GGUF files.
#include "experts/file_blobs.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <set>

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

std::vector<int> FileBlobs::used_files() const {
  std::set<int> used;
  for (int l = 0; l < layers_; ++l) {
    for (int e = 0; e < experts_; ++e) {
      for (const FileSpan& span : blob(l, e).spans) used.insert(span.file);
    }
  }
  return {used.begin(), used.end()};
}

bool FileBlobs::contiguous() const {
  for (int l = 0; l < layers_; ++l) {
    for (int e = 0; e < experts_; ++e) {
      if (blob(l, e).spans.size() != 1) return false;
    }
  }
  return true;
}

bool FileBlobs::on_tmpfs() const {
  for (const int file : used_files()) {
    struct statfs system = {};
    const std::string& path = files_[static_cast<size_t>(file)].path();
    if (statfs(path.c_str(), &system) != 0 || system.f_type != TMPFS_MAGIC) return false;
  }
  return true;
}

Status FileBlobs::map_in_place() {
  maps_.resize(files_.size());
  for (const int file : used_files()) {
    const auto at = static_cast<size_t>(file);
    ROTA_ASSIGN_OR_RETURN(maps_[at], MmapFile::open_for_device(files_[at].path()));
  }
  return Status();
}

void FileBlobs::seal_in_place() {
  for (MmapFile& map : maps_) map.seal();
}

const uint8_t* FileBlobs::in_place(int layer, int expert) const {
  if (maps_.empty()) return nullptr;
  const FileSpan& span = blob(layer, expert).spans.front();
  return maps_[static_cast<size_t>(span.file)].data() + span.offset;
}

std::vector<std::span<const uint8_t>> FileBlobs::in_place_memory() const {
  std::vector<std::span<const uint8_t>> memory;
  for (const MmapFile& map : maps_) {
    if (map.size() > 0) memory.emplace_back(map.data(), map.size());
  }
  return memory;
}

}  // namespace rota
