// Opening of model and sidecar, and the look-ups.
#include "model/weight_source.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "base/check.h"
#include "formats/gguf.h"
#include "formats/shard_name.h"
#include "model/expert_blobs.h"
#include "model/gguf_config.h"
#include "model/weight_fingerprint.h"

namespace rota {
namespace {

constexpr auto kRoles = static_cast<size_t>(Role::kCount);

// The model or its sidecar: one GGUF, its dense tensors by (layer, role), its experts by (layer,
// expert).
struct Side {
  explicit Side(Gguf file) : gguf(std::move(file)) {}

  Gguf gguf;
  int first_file = 0;
  std::vector<WeightTensor>
      tensors;  // [(layer + 1) * roles + role]; file -1 where the config has none
  std::vector<std::vector<ExpertBlob>> experts;
};

std::string shape_text(const std::array<uint64_t, 4>& ne) {
  std::string text = "[" + std::to_string(ne[0]);
  for (size_t i = 1; i < ne.size(); ++i) {
    if (i == 1 || ne[i] != 1) text += ", " + std::to_string(ne[i]);
  }
  return text + "]";
}

Result<WeightTensor> find_tensor(const Side& side, const ExpectedTensor& expected) {
  const GgufTensor* found = side.gguf.tensor(expected.name);
  const auto fail = [&](const std::string& message) {
    const size_t shard = found == nullptr ? 0 : static_cast<size_t>(found->shard);
    return Status(Code::kLoad,
                  side.gguf.shards()[shard].path() + ": tensor " + expected.name + ": " + message);
  };
  if (found == nullptr) return fail("missing");
  const std::array<uint64_t, 4> ne = {expected.ne[0], expected.ne[1], 1, 1};
  if (found->ne != ne)
    return fail("shape " + shape_text(found->ne) + ", expected " + shape_text(ne));
  if (!is_weight_format(found->format) ||
      (role_is_f32(expected.role) && found->format != Format::kF32)) {
    return fail(std::string("format ") + format_info(found->format).name + ", expected " +
                (role_is_f32(expected.role) ? "F32" : "a weight format"));
  }
  WeightTensor tensor;
  tensor.format = found->format;
  tensor.ne = expected.ne;
  tensor.data = found->data;
  tensor.file = side.first_file + found->shard;
  tensor.offset = found->offset;
  tensor.bytes = found->bytes;
  tensor.row_bytes = found->bytes / expected.ne[1];
  return tensor;
}

Status find_all(Side& side, const Config& config, const std::vector<ExpectedTensor>& list,
                int layers, int experts) {
  side.tensors.resize(static_cast<size_t>(layers + 1) * kRoles);
  for (const ExpectedTensor& expected : list) {
    const size_t place =
        static_cast<size_t>(expected.layer + 1) * kRoles + static_cast<size_t>(expected.role);
    ROTA_ASSIGN_OR_RETURN(side.tensors[place], find_tensor(side, expected));
  }
  for (int layer = 0; layer < layers; ++layer) {
    ROTA_ASSIGN_OR_RETURN(std::vector<ExpertBlob> blobs,
                          find_expert_blobs(side.gguf, side.first_file, config, layer, experts));
    side.experts.push_back(std::move(blobs));
  }
  return Status();
}

const WeightTensor& lookup(const Side& side, Role role, int layer) {
  const size_t place = static_cast<size_t>(layer + 1) * kRoles + static_cast<size_t>(role);
  ROTA_CHECK(layer >= -1 && place < side.tensors.size() && side.tensors[place].file >= 0,
             role_suffix(role), "layer", layer);
  return side.tensors[place];
}

uint64_t sum_experts(const Side& side) {
  uint64_t bytes = 0;
  for (const auto& layer : side.experts) {
    for (const ExpertBlob& blob : layer) bytes += blob.bytes;
  }
  return bytes;
}

}  // namespace

struct WeightSource::Impl {
  explicit Impl(Gguf model) : target(std::move(model)) {}

  const MmapFile& map(int file) const {
    const auto shards = static_cast<int>(target.gguf.shards().size());
    ROTA_CHECK(file >= 0 && static_cast<size_t>(file) < files.size(), "file", file);
    return file < shards ? target.gguf.shards()[static_cast<size_t>(file)]
                         : draft->gguf.shards()[static_cast<size_t>(file - shards)];
  }

  void add_files(Side& side) {
    side.first_file = static_cast<int>(files.size());
    for (const MmapFile& shard : side.gguf.shards()) files.push_back(shard.path());
  }

  void sum() {
    for (size_t i = 0; i < target.tensors.size(); ++i) {
      const bool engram = i % kRoles == static_cast<size_t>(Role::kEngramEmbed);
      (engram ? totals.engram : totals.dense) += target.tensors[i].bytes;
    }
    totals.experts = sum_experts(target);
    if (!draft) return;
    for (const WeightTensor& tensor : draft->tensors) totals.draft_dense += tensor.bytes;
    totals.draft_experts = sum_experts(*draft);
  }

  Config config;
  Side target;
  std::optional<Side> draft;
  std::vector<std::string> files;
  Totals totals;
};

WeightSource::WeightSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WeightSource::~WeightSource() = default;

Result<std::unique_ptr<WeightSource>> WeightSource::open(const std::string& path,
                                                         const WeightSourceOptions& options) {
  ROTA_ASSIGN_OR_RETURN(Gguf model, Gguf::open(path));
  auto impl = std::make_unique<Impl>(std::move(model));
  ROTA_ASSIGN_OR_RETURN(impl->config, read_config(impl->target.gguf));
  impl->add_files(impl->target);
  const std::string beside = sidecar_path(path);
  const bool found_beside = access(beside.c_str(), F_OK) == 0;
  if (options.want_draft && (!options.draft_path.empty() || found_beside)) {
    ROTA_ASSIGN_OR_RETURN(Gguf sidecar,
                          Gguf::open(options.draft_path.empty() ? beside : options.draft_path));
    ROTA_RETURN_IF_ERROR(read_draft_config(impl->target.gguf, sidecar, impl->config));
    impl->draft.emplace(std::move(sidecar));
    impl->add_files(*impl->draft);
  }
  const Config& c = impl->config;
  ROTA_RETURN_IF_ERROR(find_all(impl->target, c, target_tensors(c), c.layers, c.experts));
  if (impl->draft) {
    ROTA_RETURN_IF_ERROR(
        find_all(*impl->draft, c, draft_tensors(c), c.draft_stages, c.draft_experts));
  }
  impl->sum();
  return std::unique_ptr<WeightSource>(new WeightSource(std::move(impl)));
}

const Config& WeightSource::config() const { return impl_->config; }
const std::vector<std::string>& WeightSource::files() const { return impl_->files; }
uint64_t WeightSource::file_bytes(int file) const { return impl_->map(file).size(); }
const WeightSource::Totals& WeightSource::totals() const { return impl_->totals; }

const WeightTensor& WeightSource::target(Role role, int layer) const {
  return lookup(impl_->target, role, layer);
}

const WeightTensor& WeightSource::draft(Role role, int stage) const {
  ROTA_CHECK(impl_->draft.has_value(), "no sidecar is open, asked for", role_suffix(role));
  return lookup(*impl_->draft, role, stage);
}

const ExpertBlob& WeightSource::expert(int layer, int expert) const {
  return impl_->target.experts.at(static_cast<size_t>(layer)).at(static_cast<size_t>(expert));
}

const ExpertBlob& WeightSource::draft_expert(int stage, int expert) const {
  ROTA_CHECK(impl_->draft.has_value(), "no sidecar is open, asked for stage", stage);
  return impl_->draft->experts.at(static_cast<size_t>(stage)).at(static_cast<size_t>(expert));
}

const uint8_t* WeightSource::mapped(const FileSpan& span) const {
  const MmapFile& map = impl_->map(span.file);
  ROTA_CHECK(span.offset <= map.size() && span.bytes <= map.size() - span.offset, map.path(),
             span.offset, span.bytes);
  return map.data() + span.offset;
}

std::string WeightSource::fingerprint() const {
  std::vector<const Gguf*> parts = {&impl_->target.gguf};
  if (impl_->draft) parts.push_back(&impl_->draft->gguf);
  return weight_fingerprint(parts);
}

std::string sidecar_path(const std::string& model_path) {
  return model_stem(model_path) + ".dspark.gguf";
}

}  // namespace rota
