// The alias table, and the recognition of a file by it.
#include "model/family.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "model/gguf_config.h"

namespace rota {
namespace {

enum class Kind { kKey, kTensor };

struct Alias {
  Kind kind;
  const char* a;
  const char* b;  // nullptr: family B has nothing of the sort
};

// Every name on which A and B differ; so each of them is also evidence of a family.
constexpr Alias kAliases[] = {
    {Kind::kKey, "attention.kv_source_layer_ids", nullptr},
    {Kind::kKey, "attention.index_source_layer_ids", nullptr},
    {Kind::kKey, "attention.candidate_source_layer_id", nullptr},
    {Kind::kKey, "engram.n_heads", "engram.head_count"},
    {Kind::kKey, "engram.head_dim", "engram.key_length"},
    {Kind::kKey, "engram.pad_token_id", "engram.pad_id"},
    {Kind::kTensor, "indexer_compressor_kv.weight", "indexer.attn_k.weight"},
    {Kind::kTensor, "indexer_compressor_norm.weight", "indexer.k_norm.weight"},
    {Kind::kTensor, "engram_embed.weight", "engram_embd.weight"},
};

constexpr std::string_view kMapSuffix = "ffn_exps_map";

struct LayerName {
  int layer;
  std::string_view suffix;
};

// "blk.N.SUFFIX" taken apart.
std::optional<LayerName> parse_layer_name(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  LayerName parsed{};
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, parsed.layer);
  if (error != std::errc() || stop == end || *stop != '.' || parsed.layer < 0) return std::nullopt;
  parsed.suffix = std::string_view(stop + 1, static_cast<size_t>(end - stop - 1));
  return parsed;
}

// The first name in the file that only this family uses, as it is to be shown; empty when there is
// none.
std::string first_mark(const Gguf& model, bool of_b) {
  const std::string prefix = std::string(kModelArchitecture) + ".";
  for (const Alias& alias : kAliases) {
    const char* const name = of_b ? alias.b : alias.a;
    if (name == nullptr) continue;
    if (alias.kind == Kind::kKey && model.has(prefix + name)) return "key " + prefix + name;
    if (alias.kind == Kind::kKey) continue;
    const std::vector<int> layers = layers_with(model, name);
    if (!layers.empty()) return "tensor blk." + std::to_string(layers.front()) + "." + name;
  }
  return "";
}

}  // namespace

const char* family_name(Family family) {
  constexpr const char* kNames[] = {"ours", "a", "b"};
  return kNames[static_cast<size_t>(family)];
}

Result<Family> parse_family(std::string_view name) {
  for (const Family family : {Family::kOurs, Family::kA, Family::kB}) {
    if (name == family_name(family)) return family;
  }
  return Status(Code::kUsage, "\"" + std::string(name) + "\" is none of ours, a, b");
}

std::vector<int> layers_with(const Gguf& gguf, std::string_view suffix) {
  std::vector<int> layers;
  for (const GgufTensor& tensor : gguf.tensors()) {
    const auto name = parse_layer_name(tensor.name);
    if (name && name->suffix == suffix) layers.push_back(name->layer);
  }
  std::sort(layers.begin(), layers.end());
  return layers;
}

Result<Family> recognise_family(const Gguf& model) {
  const std::string& path = model.shards().front().path();
  const std::string a = first_mark(model, false), b = first_mark(model, true);
  const std::vector<int> maps = layers_with(model, kMapSuffix);
  const std::string map =
      maps.empty() ? ""
                   : "tensor blk." + std::to_string(maps.front()) + "." + std::string(kMapSuffix);
  if (!b.empty() && !(a.empty() && map.empty())) {
    return Status(Code::kLoad, path + ": " + b + " is of family b, but " +
                                   (a.empty() ? map + " is of family ours" : a + " of family a") +
                                   "; a file must be of one");
  }
  if (!b.empty()) return Family::kB;
  if (!map.empty()) return Family::kOurs;
  if (!a.empty()) return Family::kA;
  return Status(Code::kLoad, path + ": of no known family: there is neither key " +
                                 std::string(kModelArchitecture) + "." + kAliases[0].a +
                                 " (family a) nor a tensor blk.N.indexer.attn_k.weight (family b)");
}

std::string_view spelled(Family family, std::string_view name) {
  if (family != Family::kB) return name;
  for (const Alias& alias : kAliases) {
    if (name == alias.a && alias.b != nullptr) return alias.b;
  }
  return name;
}

}  // namespace rota
