// Tensors declared first, so that offsets are known; then their bytes in the same order.
#include "quantise/shipped_files.h"

#include <map>
#include <memory>

#include "formats/gguf_writer.h"
#include "formats/shard_name.h"
#include "model/gguf_config.h"
#include "quantise/calibration.h"

namespace rota {
namespace {

constexpr uint32_t kAlignment = 4096;  // a disk page: large tensors are read past the page cache

// One file: what is declared, and how each tensor's bytes come.
class File {
 public:
  explicit File(const std::string& path) : writer(path, kAlignment) {}

  Status declare(const std::string& name, Format format, const std::vector<uint64_t>& ne,
                 std::function<Status(GgufWriter&)> write) {
    writes_.push_back(std::move(write));
    return writer.add_tensor(name, format, ne);
  }

  Status declare_dense(const ExpectedTensor& expected, const WeightTensor& tensor) {
    std::vector<uint64_t> ne = {tensor.ne[0]};
    if (tensor.ne[1] > 1) ne.push_back(tensor.ne[1]);
    // Engram tables are no part of the dense half: their rows are read from the file, one by one.
    const bool table = expected.role == Role::kEngramEmbed;
    const Format format = table ? tensor.format : shipped_dense(tensor.format);
    return declare(expected.name, format, ne, [&tensor, format](GgufWriter& out) -> Status {
      for (uint64_t row = 0; row < tensor.ne[1]; ++row) {
        if (format == tensor.format) {
          ROTA_RETURN_IF_ERROR(out.append(tensor.row(row), tensor.row_bytes));
          continue;
        }
        const std::vector<uint8_t> bytes =
            transcoded(tensor.format, tensor.row(row), format, tensor.ne[0]);
        ROTA_RETURN_IF_ERROR(out.append(bytes.data(), bytes.size()));
      }
      return {};
    });
  }

  // A layer's experts by their formats, ascending within each, and the map that says which is
  // which. write(expert) gives an expert's bytes.
  Status declare_experts(int layer, const std::vector<Format>& formats, uint64_t weights,
                         const std::function<Status(GgufWriter&, int expert)>& write) {
    std::map<Format, std::vector<int>> members;
    std::vector<int32_t> map;
    for (size_t e = 0; e < formats.size(); ++e) {
      std::vector<int>& list = members[formats[e]];
      map.push_back(static_cast<int32_t>(formats[e]));
      map.push_back(static_cast<int32_t>(list.size()));
      list.push_back(static_cast<int>(e));
    }
    for (const auto& [format, list] : members) {
      ROTA_RETURN_IF_ERROR(declare(expert_blob_name(layer, format_info(format).name), format,
                                   {weights, list.size()},
                                   [write, list = list](GgufWriter& out) -> Status {
                                     for (const int e : list) {
                                       ROTA_RETURN_IF_ERROR(write(out, e));
                                     }
                                     return {};
                                   }));
    }
    return declare(
        expert_map_name(layer), Format::kI32, {2, formats.size()},
        [map](GgufWriter& out) { return out.append(map.data(), map.size() * sizeof(int32_t)); });
  }

  Status write() {
    ROTA_RETURN_IF_ERROR(writer.begin_data());
    for (const auto& write : writes_) ROTA_RETURN_IF_ERROR(write(writer));
    return writer.finish();
  }

  GgufWriter writer;

 private:
  std::vector<std::function<Status(GgufWriter&)>> writes_;
};

uint64_t expert_weights(const Config& c) {
  return uint64_t{3} * static_cast<uint64_t>(c.dim) * static_cast<uint64_t>(c.moe_inter);
}

// What once-a-file roles there are, then layer by layer, as a synthetic model is laid out.
template <typename Dense, typename Experts>
Status declare_all(const std::vector<ExpectedTensor>& tensors, int layers, const Dense& dense,
                   const Experts& experts) {
  for (int layer = -1; layer < layers; ++layer) {
    for (const ExpectedTensor& tensor : tensors) {
      if (tensor.layer == layer) ROTA_RETURN_IF_ERROR(dense(tensor));
    }
    if (layer >= 0) ROTA_RETURN_IF_ERROR(experts(layer));
  }
  return {};
}

Status write_model(const WeightSource& source, const Gguf& keys, const ShippedChoice& shipped,
                   File& file) {
  const Config& c = source.config();
  write_config(c, Family::kOurs, file.writer);
  for (const std::string& key : keys.keys()) {
    if (key.starts_with("tokenizer.")) file.writer.key_copy(key, *keys.find(key));
  }
  // One layer's blobs at a time, read when its first tensor is written.
  auto held = std::make_shared<std::pair<int, LayerFit>>(-1, LayerFit());
  ROTA_RETURN_IF_ERROR(declare_all(
      target_tensors(c), c.layers,
      [&](const ExpectedTensor& t) -> Status {
        if (t.role == Role::kEngramEmbed && !shipped.engram_tables) return {};
        return file.declare_dense(t, source.target(t.role, t.layer));
      },
      [&](int layer) {
        std::vector<Format> formats;
        for (int e = 0; e < c.experts; ++e) {
          const int index = shipped.choice[static_cast<size_t>(layer * c.experts + e)];
          formats.push_back(kChoices[static_cast<size_t>(index)]);
        }
        return file.declare_experts(layer, formats, expert_weights(c),
                                    [held, layer, &shipped](GgufWriter& out, int expert) -> Status {
                                      if (held->first != layer) {
                                        ROTA_ASSIGN_OR_RETURN(held->second, shipped.fitted(layer));
                                        held->first = layer;
                                      }
                                      const auto& blob =
                                          held->second.experts[static_cast<size_t>(expert)].blob;
                                      return out.append(blob.data(), blob.size());
                                    });
      }));
  return file.write();
}

// The format of all three parts, in which the blob layout keeps them; kUnsupported for three that
// differ.
Result<Format> whole_format(const ExpertBlob& blob, int stage, int expert) {
  if (blob.format[0] == blob.format[1] && blob.format[0] == blob.format[2]) return blob.format[0];
  return Status(Code::kUnsupported,
                "draft stage " + std::to_string(stage) + ", expert " + std::to_string(expert) +
                    ": gate, up and down are of different formats, which cannot be kept as they "
                    "are in one blob");
}

Status write_sidecar(const WeightSource& source, File& file) {
  const Config& c = source.config();
  write_draft_config(c, file.writer);
  ROTA_RETURN_IF_ERROR(declare_all(
      draft_tensors(c), c.draft_stages,
      [&](const ExpectedTensor& t) { return file.declare_dense(t, source.draft(t.role, t.layer)); },
      [&](int stage) -> Status {
        std::vector<Format> formats;
        for (int e = 0; e < c.draft_experts; ++e) {
          ROTA_ASSIGN_OR_RETURN(const Format format,
                                whole_format(source.draft_expert(stage, e), stage, e));
          formats.push_back(format);
        }
        return file.declare_experts(
            stage, formats, expert_weights(c),
            [&source, stage](GgufWriter& out, int expert) -> Status {
              for (const FileSpan& span : source.draft_expert(stage, expert).spans) {
                ROTA_RETURN_IF_ERROR(out.append(source.mapped(span), span.bytes));
              }
              return {};
            });
      }));
  return file.write();
}

}  // namespace

Result<ShippedFiles> write_shipped(const WeightSource& source, const std::string& source_path,
                                   const ShippedChoice& shipped, const std::string& path) {
  ROTA_ASSIGN_OR_RETURN(const Gguf keys, Gguf::open(source_path));
  ShippedFiles files;
  files.model = path;
  if (source.has_draft()) {
    files.sidecar = sidecar_path(path);
    File sidecar(files.sidecar);
    ROTA_RETURN_IF_ERROR(write_sidecar(source, sidecar));
    files.bytes += sidecar.writer.file_bytes();
  }
  File model(path);
  ROTA_RETURN_IF_ERROR(write_model(source, keys, shipped, model));
  files.bytes += model.writer.file_bytes();
  return files;
}

}  // namespace rota
