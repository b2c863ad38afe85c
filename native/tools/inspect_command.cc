// rota-model inspect and fingerprint: an opened model -> JSON, and the same as text.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/block.h"
#include "formats/gguf.h"
#include "model/weight_source.h"
#include "tools/model_tool.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

Result<std::unique_ptr<WeightSource>> open(const ReadArguments& arguments) {
  WeightSourceOptions options;
  options.draft_path = arguments.draft;
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

std::string megabytes(const Json& bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f MB", static_cast<double>(bytes.get<uint64_t>()) * 1e-6);
  return text;
}

void print_experts(const char* whose, const Json& shares) {
  for (const auto& [format, share] : shares.items()) {
    std::printf("  %-7s %-8s %6llu experts of %llu bytes, %s\n", whose, format.c_str(),
                share["experts"].get<unsigned long long>(),
                share["blob_bytes"].get<unsigned long long>(), megabytes(share["bytes"]).c_str());
  }
}

void print_text(const Json& j) {
  const Json& c = j["config"];
  std::printf("%s: %d layers of width %d, %d experts, top %d, vocabulary %d, %d draft stages\n",
              c["name"].get<std::string>().c_str(), c["layers"].get<int>(), c["dim"].get<int>(),
              c["experts"].get<int>(), c["top_k"].get<int>(), c["vocab"].get<int>(),
              c["draft_stages"].get<int>());
  std::printf("fingerprint %s\n", j["fingerprint"].get<std::string>().c_str());
  std::printf("files\n");
  for (const Json& file : j["files"]) {
    std::printf("  %s, %s\n", file["path"].get<std::string>().c_str(),
                megabytes(file["bytes"]).c_str());
  }
  std::printf("bytes\n");
  for (const auto& [what, bytes] : j["bytes"].items()) {
    std::printf("  %-14s %s\n", what.c_str(), megabytes(bytes).c_str());
  }
  std::printf("experts\n");
  print_experts("target", j["experts"]["target"]);
  print_experts("draft", j["experts"]["draft"]);
  std::printf("keys\n");
  for (const auto& [key, value] : j["keys"].items()) {
    std::printf("  %s = %s\n", key.c_str(), value.dump().c_str());
  }
  std::printf("tensors\n");
  for (const Json& tensor : j["tensors"]) {
    std::printf("  %-40s %-7s %-18s %s\n", tensor["name"].get<std::string>().c_str(),
                tensor["format"].get<std::string>().c_str(), tensor["ne"].dump().c_str(),
                megabytes(tensor["bytes"]).c_str());
  }
}

}  // namespace

Status inspect_command(std::span<const char* const> arguments) {
  ROTA_ASSIGN_OR_RETURN(const ReadArguments parsed, parse_read_arguments(arguments));
  ROTA_ASSIGN_OR_RETURN(const auto source, open(parsed));
  const WeightSource::Totals& totals = source->totals();
  Json out = {{"fingerprint", source->fingerprint()},
              {"config", config_json(source->config())},
              {"files", files_json(*source)},
              {"bytes",
               {{"dense", totals.dense},
                {"engram", totals.engram},
                {"experts", totals.experts},
                {"draft_dense", totals.draft_dense},
                {"draft_experts", totals.draft_experts}}},
              {"experts", experts_json(*source)}};
  ROTA_ASSIGN_OR_RETURN(out["keys"], keys_json(parsed.file));
  ROTA_ASSIGN_OR_RETURN(out["tensors"], tensors_json(*source, parsed));
  if (parsed.json) {
    // Names from a file may be no UTF-8; they are shown with replacement characters rather than
    // refused.
    std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    print_text(out);
  }
  return Status();
}

Status fingerprint_command(std::span<const char* const> arguments) {
  ROTA_ASSIGN_OR_RETURN(const ReadArguments parsed, parse_read_arguments(arguments));
  ROTA_ASSIGN_OR_RETURN(const auto source, open(parsed));
  const std::string fingerprint = source->fingerprint();
  if (parsed.json) {
    const Json out = {{"fingerprint", fingerprint}, {"files", files_json(*source)}};
    std::printf("%s\n", out.dump().c_str());
  } else {
    std::printf("%s\n", fingerprint.c_str());
  }
  return Status();
}

}  // namespace rota
