// Opening of model, sidecar and Engram tables, and the look-ups.
#include "model/weight_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "formats/shard_name.h"
#include "model/gguf_config.h"
#include "model/opened_gguf.h"
#include "model/weight_fingerprint.h"

namespace rota {
namespace {

std::string beside(const std::string& model_path, const char* suffix) {
  return model_stem(without_part_suffix(model_path)) + suffix;
}

}  // namespace

const uint8_t* WeightTensor::row(uint64_t index) const {
  if (data != nullptr) return data + index * row_bytes;
  const auto after = std::upper_bound(
      stretches.begin(), stretches.end(), index,
      [](uint64_t wanted, const Stretch& stretch) { return wanted < stretch.first_row; });
  const Stretch& stretch = *(after - 1);
  return stretch.data + (index - stretch.first_row) * row_bytes;
}

struct WeightSource::Impl {
  Impl(Gguf model, Family family_) : family(family_), target(std::move(model), 0) {
    add_files(target);
  }

  void add_files(const OpenedGguf& opened) {
    for (const MmapFile* file : opened.files()) {
      maps.push_back(file);
      files.push_back(file->path());
    }
  }

  Status open_draft(const std::string& path, const WeightSourceOptions& options) {
    if (!options.want_draft) return Status();
    const std::string near = sidecar_path(path);
    const bool named = !options.draft_path.empty();
    if (!named && !file_or_parts_exist(near)) return Status();
    ROTA_ASSIGN_OR_RETURN(Gguf sidecar, Gguf::open(named ? options.draft_path : near));
    ROTA_RETURN_IF_ERROR(read_draft_config(target.gguf, sidecar, config));
    add_files(draft.emplace(std::move(sidecar), static_cast<int>(files.size())));
    for (const ExpectedTensor& expected : draft_tensors(config)) {
      ROTA_RETURN_IF_ERROR(draft->find(expected, config.draft_stages));
    }
    return draft->find_experts(config, config.draft_stages, config.draft_experts);
  }

  // Tables of their own file, where one is named, or is beside a model that has none.
  Status open_engram(const std::string& path, const WeightSourceOptions& options) {
    if (config.engram_layers.empty()) return Status();
    const int layer = config.engram_layers.front();
    const std::string near = engram_table_path(path);
    const bool named = !options.engram_path.empty();
    const std::string first = std::string("blk.") + std::to_string(layer) + "." +
                              std::string(spelled(family, role_suffix(Role::kEngramEmbed)));
    if (!named && (target.has(first) || !file_or_parts_exist(near))) return Status();
    ROTA_ASSIGN_OR_RETURN(Gguf tables, Gguf::open(named ? options.engram_path : near));
    ROTA_RETURN_IF_ERROR(check_architecture(tables, kEngramArchitecture));
    add_files(engram.emplace(std::move(tables), static_cast<int>(files.size())));
    return Status();
  }

  Status find_target() {
    for (ExpectedTensor& expected : target_tensors(config, family)) {
      const bool elsewhere = engram && expected.role == Role::kEngramEmbed;
      if (elsewhere) expected.name = role_tensor_name(expected.role, expected.layer);
      ROTA_RETURN_IF_ERROR((elsewhere ? *engram : target).find(expected, config.layers));
    }
    return target.find_experts(config, config.layers, config.experts);
  }

  const OpenedGguf& holder(Role role) const {
    return engram && role == Role::kEngramEmbed ? *engram : target;
  }

  void sum() {
    for (const WeightTensor& tensor : target.tensors()) totals.dense += tensor.bytes;
    for (const int layer : config.engram_layers) {
      const uint64_t bytes = holder(Role::kEngramEmbed).tensor(Role::kEngramEmbed, layer).bytes;
      totals.engram += bytes;
      if (!engram) totals.dense -= bytes;
    }
    totals.experts = target.expert_bytes();
    if (!draft) return;
    for (const WeightTensor& tensor : draft->tensors()) totals.draft_dense += tensor.bytes;
    totals.draft_experts = draft->expert_bytes();
  }

  Family family;
  Config config;
  std::vector<const MmapFile*> maps;  // as files
  std::vector<std::string> files;
  OpenedGguf target;
  std::optional<OpenedGguf> draft, engram;
  Totals totals;
};

WeightSource::WeightSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WeightSource::~WeightSource() = default;

Result<std::unique_ptr<WeightSource>> WeightSource::open(const std::string& path,
                                                         const WeightSourceOptions& options) {
  ROTA_ASSIGN_OR_RETURN(Gguf model, Gguf::open(path));
  return of(std::move(model), path, options);
}

Result<std::unique_ptr<WeightSource>> WeightSource::of(Gguf model, const std::string& path,
                                                       const WeightSourceOptions& options) {
  ROTA_RETURN_IF_ERROR(check_architecture(model, kModelArchitecture));
  ROTA_ASSIGN_OR_RETURN(const Family family, recognise_family(model));
  ROTA_ASSIGN_OR_RETURN(Config config, read_config(model, family));
  auto impl = std::make_unique<Impl>(std::move(model), family);
  impl->config = std::move(config);
  ROTA_RETURN_IF_ERROR(impl->open_engram(path, options));
  ROTA_RETURN_IF_ERROR(impl->find_target());
  ROTA_RETURN_IF_ERROR(impl->open_draft(path, options));
  impl->sum();
  return std::unique_ptr<WeightSource>(new WeightSource(std::move(impl)));
}

const Config& WeightSource::config() const { return impl_->config; }
Family WeightSource::family() const { return impl_->family; }
const std::vector<std::string>& WeightSource::files() const { return impl_->files; }
uint64_t WeightSource::file_bytes(int file) const {
  return impl_->maps.at(static_cast<size_t>(file))->size();
}
const WeightSource::Totals& WeightSource::totals() const { return impl_->totals; }

const WeightTensor& WeightSource::target(Role role, int layer) const {
  return impl_->holder(role).tensor(role, layer);
}

const WeightTensor& WeightSource::draft(Role role, int stage) const {
  ROTA_CHECK(impl_->draft.has_value(), "no sidecar is open, asked for", role_suffix(role));
  return impl_->draft->tensor(role, stage);
}

const ExpertBlob& WeightSource::expert(int layer, int expert) const {
  return impl_->target.expert(layer, expert);
}

const ExpertBlob& WeightSource::draft_expert(int stage, int expert) const {
  ROTA_CHECK(impl_->draft.has_value(), "no sidecar is open, asked for stage", stage);
  return impl_->draft->expert(stage, expert);
}

const uint8_t* WeightSource::mapped(const FileSpan& span) const {
  const MmapFile& map = *impl_->maps.at(static_cast<size_t>(span.file));
  ROTA_CHECK(span.offset <= map.size() && span.bytes <= map.size() - span.offset, map.path(),
             span.offset, span.bytes);
  return map.data() + span.offset;
}

std::vector<FileIdentity> WeightSource::identities() const {
  std::vector<FileIdentity> all;
  for (const MmapFile* map : impl_->maps) all.push_back(map->identity());
  return all;
}

std::string WeightSource::fingerprint() const {
  std::vector<const Gguf*> parts = {&impl_->target.gguf};
  if (impl_->engram) parts.push_back(&impl_->engram->gguf);
  return weight_fingerprint(parts);
}

std::string WeightSource::draft_fingerprint() const {
  return impl_->draft ? weight_fingerprint({&impl_->draft->gguf}) : std::string();
}

std::string sidecar_path(const std::string& model_path) {
  return beside(model_path, ".dspark.gguf");
}

std::string engram_table_path(const std::string& model_path) {
  return beside(model_path, ".engram.gguf");
}

std::string rank_path(const std::string& model_path) { return beside(model_path, ".rank"); }

}  // namespace rota
