// Assembling of the JSON from an opened model.
#include "tools/inspect.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/block.h"
#include "formats/gguf.h"
#include "model/weight_source.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

Result<std::unique_ptr<WeightSource>> open(const ReadArguments& arguments) {
  WeightSourceOptions options;
  options.draft_path = arguments.draft;
  options.engram_path = arguments.engram;
  return WeightSource::open(arguments.file, options);
}

Json config_json(const Config& c) {
  return {{"name", c.name},
          {"layers", c.layers},
          {"dim", c.dim},
          {"vocab", c.vocab},
          {"experts", c.experts},
          {"top_k", c.top_k},
          {"moe_inter", c.moe_inter},
          {"heads", c.heads},
          {"head_dim", c.head_dim},
          {"window", c.window},
          {"ratios", c.ratios},
          {"kv_source", c.kv_source},
          {"index_source", c.index_source},
          {"engram_layers", c.engram_layers},
          {"draft_stages", c.draft_stages},
          {"draft_block", c.draft_stages > 0 ? c.draft_block : 0}};
}

// Experts by format; an expert whose parts differ is named "GATE+UP+DOWN".
struct FormatShare {
  uint64_t experts = 0, bytes = 0;
};
using Shares = std::map<std::string, FormatShare>;

void add(Shares& shares, const ExpertBlob& blob) {
  std::string name = format_info(blob.format[0]).name;
  if (blob.format[1] != blob.format[0] || blob.format[2] != blob.format[0]) {
    name += std::string("+") + format_info(blob.format[1]).name + "+" +
            format_info(blob.format[2]).name;
  }
  ++shares[name].experts;
  shares[name].bytes += blob.bytes;
}

Json shares_json(const Shares& shares) {
  Json out = Json::object();
  for (const auto& [name, share] : shares) {
    out[name] = {{"experts", share.experts},
                 {"bytes", share.bytes},
                 {"blob_bytes", share.bytes / share.experts}};
  }
  return out;
}

Json experts_json(const WeightSource& source) {
  const Config& c = source.config();
  Shares target, draft;
  for (int layer = 0; layer < c.layers; ++layer) {
    for (int e = 0; e < c.experts; ++e) add(target, source.expert(layer, e));
  }
  for (int stage = 0; stage < c.draft_stages; ++stage) {
    for (int e = 0; e < c.draft_experts; ++e) add(draft, source.draft_expert(stage, e));
  }
  return {{"target", shares_json(target)}, {"draft", shares_json(draft)}};
}

// Null: the model has no sidecar.
Json draft_fingerprint(const WeightSource& source) {
  return source.has_draft() ? Json(source.draft_fingerprint()) : Json();
}

Json files_json(const WeightSource& source) {
  Json out = Json::array();
  for (size_t i = 0; i < source.files().size(); ++i) {
    out.push_back({{"path", source.files()[i]}, {"bytes", source.file_bytes(static_cast<int>(i))}});
  }
  return out;
}

// The tensor lists as the files have them: of the model, then of the sidecar.
Result<Json> tensors_json(const WeightSource& source, const ReadArguments& arguments) {
  std::vector<std::string> paths = {arguments.file};
  if (source.has_draft()) {
    paths.push_back(arguments.draft.empty() ? sidecar_path(arguments.file) : arguments.draft);
  }
  Json out = Json::array();
  for (const std::string& path : paths) {
    ROTA_ASSIGN_OR_RETURN(const Gguf gguf, Gguf::open(path));
    for (const GgufTensor& tensor : gguf.tensors()) {
      Json ne = Json::array();
      for (int i = 0; i < tensor.dims; ++i) ne.push_back(tensor.ne[static_cast<size_t>(i)]);
      out.push_back({{"name", tensor.name},
                     {"format", format_info(tensor.format).name},
                     {"ne", ne},
                     {"bytes", tensor.bytes},
                     {"file", gguf.shards()[static_cast<size_t>(tensor.shard)].path()},
                     {"offset", tensor.offset}});
    }
  }
  return out;
}

Result<Json> keys_json(const std::string& path) {
  ROTA_ASSIGN_OR_RETURN(const Gguf gguf, Gguf::open(path));
  Json out = Json::object();
  for (const std::string& key : gguf.keys()) {
    const GgufValue& value = *gguf.find(key);
    if (value.type == GgufType::kArray) {
      out[key] =
          std::string(gguf_type_name(value.element)) + "[" + std::to_string(value.count) + "]";
    } else if (value.type == GgufType::kString) {
      out[key] = gguf.string(key).value();
    } else if (value.type == GgufType::kBool) {
      out[key] = gguf.boolean(key).value();
    } else if (value.type == GgufType::kF32 || value.type == GgufType::kF64) {
      out[key] = gguf.f32(key).value();
    } else if (const auto number = gguf.i64(key); number.ok()) {
      out[key] = number.value();
    } else {
      out[key] = gguf.u64(key).value();
    }
  }
  return out;
}

}  // namespace

Result<Json> inspect_json(const ReadArguments& arguments) {
  ROTA_ASSIGN_OR_RETURN(const auto source, open(arguments));
  const WeightSource::Totals& totals = source->totals();
  Json out = {{"fingerprint", source->fingerprint()},
              {"draft_fingerprint", draft_fingerprint(*source)},
              {"family", family_name(source->family())},
              {"config", config_json(source->config())},
              {"files", files_json(*source)},
              {"bytes",
               {{"dense", totals.dense},
                {"engram", totals.engram},
                {"experts", totals.experts},
                {"draft_dense", totals.draft_dense},
                {"draft_experts", totals.draft_experts}}},
              {"experts", experts_json(*source)}};
  ROTA_ASSIGN_OR_RETURN(out["keys"], keys_json(arguments.file));
  ROTA_ASSIGN_OR_RETURN(out["tensors"], tensors_json(*source, arguments));
  return out;
}

Result<Json> fingerprint_json(const ReadArguments& arguments) {
  ROTA_ASSIGN_OR_RETURN(const auto source, open(arguments));
  return Json{{"fingerprint", source->fingerprint()},
              {"draft_fingerprint", draft_fingerprint(*source)},
              {"files", files_json(*source)}};
}

}  // namespace rota
