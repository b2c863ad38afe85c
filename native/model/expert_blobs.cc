// Both expert layouts, from tensor list to file spans.
#include "model/expert_blobs.h"

#include <cstring>
#include <string>

namespace rota {
namespace {

constexpr std::array<ExpertPart, 3> kParts = {ExpertPart::kGate, ExpertPart::kUp,
                                              ExpertPart::kDown};

Status tensor_error(const Gguf& gguf, const std::string& tensor, const std::string& message) {
  return Status(Code::kLoad, gguf.shards().front().path() + ": tensor " + tensor + ": " + message);
}

std::string shape_text(uint64_t a, uint64_t b, uint64_t c) {
  return "[" + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) + "]";
}

// The tensor with exactly this shape, or an error naming both.
Result<const GgufTensor*> require(const Gguf& gguf, const std::string& name, uint64_t ne0,
                                  uint64_t ne1, uint64_t ne2) {
  const GgufTensor* tensor = gguf.tensor(name);
  if (tensor == nullptr) return tensor_error(gguf, name, "missing");
  if (tensor->ne != std::array<uint64_t, 4>{ne0, ne1, ne2, 1}) {
    return tensor_error(gguf, name,
                        "shape " + shape_text(tensor->ne[0], tensor->ne[1], tensor->ne[2]) +
                            ", expected " + shape_text(ne0, ne1, ne2));
  }
  return tensor;
}

// Where [offset, offset + bytes) of a shard lies: a span for each raw part that it touches.
void add_spans(const Gguf& gguf, const std::vector<int>& first_files, int shard, uint64_t offset,
               uint64_t bytes, ExpertBlob& blob) {
  const auto which = static_cast<size_t>(shard);
  const FileView& view = gguf.shards()[which];
  while (bytes > 0) {
    const FileView::Place place = view.place(offset);
    const uint64_t run = view.run(offset, bytes);
    blob.spans.push_back({first_files[which] + static_cast<int>(place.part), place.offset, run});
    offset += run;
    bytes -= run;
  }
}

// One tensor a part, one format a tensor.
Result<std::vector<ExpertBlob>> find_plain(const Gguf& gguf, const std::vector<int>& first_files,
                                           const Config& config, int layer, int experts) {
  const auto dim = static_cast<uint64_t>(config.dim),
             inter = static_cast<uint64_t>(config.moe_inter);
  const auto count = static_cast<uint64_t>(experts);
  std::vector<ExpertBlob> blobs(count);
  for (const ExpertPart part : kParts) {
    const bool down = part == ExpertPart::kDown;
    const std::string name = expert_tensor_name(layer, part);
    ROTA_ASSIGN_OR_RETURN(const GgufTensor* tensor,
                          require(gguf, name, down ? inter : dim, down ? dim : inter, count));
    if (!is_weight_format(tensor->format)) return tensor_error(gguf, name, "holds integers");
    const auto p = static_cast<size_t>(part);
    const uint64_t bytes = tensor->bytes / count;
    for (uint64_t e = 0; e < count; ++e) {
      ExpertBlob& blob = blobs[e];
      blob.format[p] = tensor->format;
      blob.part_offset[p] = blob.bytes;
      blob.part_bytes[p] = bytes;
      add_spans(gguf, first_files, tensor->shard, tensor->offset + e * bytes, bytes, blob);
      blob.bytes += bytes;
    }
  }
  return blobs;
}

struct MapEntry {
  int32_t format;
  int32_t index;
};

Result<ExpertBlob> mapped_blob(const Gguf& gguf, const std::vector<int>& first_files,
                               const Config& config, int layer, const MapEntry& entry) {
  const std::string map = expert_map_name(layer);
  const FormatInfo* info = format_info(static_cast<uint32_t>(entry.format));
  if (info == nullptr || !is_weight_format(info->format)) {
    return tensor_error(gguf, map,
                        "names format " + std::to_string(entry.format) + " (" +
                            ggml_type_name(static_cast<uint32_t>(entry.format)) +
                            "), which is not supported");
  }
  const std::string name = expert_blob_name(layer, info->name);
  const GgufTensor* tensor = gguf.tensor(name);
  if (tensor == nullptr) return tensor_error(gguf, name, "missing, but " + map + " points into it");
  const uint64_t weights =
      uint64_t{3} * static_cast<uint64_t>(config.dim) * static_cast<uint64_t>(config.moe_inter);
  ROTA_RETURN_IF_ERROR(require(gguf, name, weights, tensor->ne[1], 1).status());
  if (tensor->format != info->format) {
    return tensor_error(gguf, name,
                        std::string("is stored as ") + format_info(tensor->format).name);
  }
  if (entry.index < 0 || static_cast<uint64_t>(entry.index) >= tensor->ne[1]) {
    return tensor_error(gguf, map,
                        "points to blob " + std::to_string(entry.index) + " of " + name +
                            ", which has " + std::to_string(tensor->ne[1]));
  }
  const auto parts = expert_part_bytes(config, info->format);
  if (!parts.ok()) return tensor_error(gguf, name, parts.status().message());
  ExpertBlob blob;
  blob.format.fill(info->format);
  blob.part_bytes = parts.value();
  blob.part_offset = {0, blob.part_bytes[0], blob.part_bytes[0] + blob.part_bytes[1]};
  blob.bytes = blob.part_offset[2] + blob.part_bytes[2];
  add_spans(gguf, first_files, tensor->shard,
            tensor->offset + static_cast<uint64_t>(entry.index) * blob.bytes, blob.bytes, blob);
  return blob;
}

}  // namespace

Result<std::array<uint64_t, 3>> expert_part_bytes(const Config& config, Format format) {
  const auto dim = static_cast<uint64_t>(config.dim),
             inter = static_cast<uint64_t>(config.moe_inter);
  ROTA_ASSIGN_OR_RETURN(const size_t wide, row_bytes(format, dim));
  ROTA_ASSIGN_OR_RETURN(const size_t narrow, row_bytes(format, inter));
  return std::array<uint64_t, 3>{wide * inter, wide * inter, narrow * dim};
}

Result<std::vector<ExpertBlob>> find_expert_blobs(const Gguf& gguf,
                                                  const std::vector<int>& first_files,
                                                  const Config& config, int layer, int experts) {
  const std::string map_name = expert_map_name(layer);
  if (gguf.tensor(map_name) == nullptr) {
    return find_plain(gguf, first_files, config, layer, experts);
  }
  ROTA_ASSIGN_OR_RETURN(const GgufTensor* map,
                        require(gguf, map_name, 2, static_cast<uint64_t>(experts), 1));
  if (map->format != Format::kI32) return tensor_error(gguf, map_name, "is not I32");
  std::vector<ExpertBlob> blobs;
  for (int e = 0; e < experts; ++e) {
    MapEntry entry;
    gguf.shards()[static_cast<size_t>(map->shard)].read(
        map->offset + static_cast<size_t>(e) * sizeof(entry), sizeof(entry), &entry);
    ROTA_ASSIGN_OR_RETURN(ExpertBlob blob, mapped_blob(gguf, first_files, config, layer, entry));
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

}  // namespace rota
