// Formats, shards and files of a synthetic model.
#include "model/synthetic_model.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "base/rng.h"
#include "formats/gguf_writer.h"
#include "formats/shard_name.h"
#include "model/engram_tables.h"
#include "model/gguf_config.h"
#include "model/synthetic_plan.h"
#include "model/weight_source.h"

namespace rota {
namespace {

// A whole disk page, so that big tensors can be read past the page cache without edges.
constexpr uint32_t kAlignment = 4096;

// Rows of an expert are `dim` (gate, up) and `moe_inter` (down) long; both must be whole blocks.
Status check_expert_format(const Config& config, Format format) {
  const uint32_t block = format_info(format).block_weights;
  if (config.dim % static_cast<int>(block) == 0 &&
      config.moe_inter % static_cast<int>(block) == 0) {
    return Status();
  }
  return Status(Code::kUsage, std::string("expert format ") + format_info(format).name +
                                  " needs rows of a multiple of " + std::to_string(block) +
                                  " weights; " + config.name + " has gate and up rows of " +
                                  std::to_string(config.dim) + " and down rows of " +
                                  std::to_string(config.moe_inter));
}

struct Choice {
  ExpertFormats experts;
  Format dense, engram;
};

Result<Choice> choose_formats(const SyntheticOptions& options, const NamedConfig& named) {
  Choice choice;
  const bool default_mix =
      named.quantised && options.family == Family::kOurs && !options.expert_format;
  choice.experts.mixed = options.mixed_experts || default_mix;
  const Format plain_default = named.quantised ? Format::kQ2_0 : Format::kF32;
  choice.experts.format = options.expert_format.value_or(plain_default);
  choice.dense = options.dense_format.value_or(named.quantised ? Format::kQ8_0 : Format::kF32);
  choice.engram = options.engram_format.value_or(choice.dense);
  if (!is_weight_format(choice.experts.format) || !is_weight_format(choice.dense) ||
      !is_weight_format(choice.engram)) {
    return Status(Code::kUsage, "integer formats hold no weights");
  }
  if (named.random_experts && options.family != Family::kOurs) {
    return Status(Code::kUsage,
                  "experts of " + named.config.name + " are random blocks: --layout blob only");
  }
  if (!choice.experts.mixed) {
    ROTA_RETURN_IF_ERROR(check_expert_format(named.config, choice.experts.format));
    return choice;
  }
  if (options.family != Family::kOurs) {
    return Status(Code::kUsage,
                  "mixed expert formats need the layout ours: a plain tensor has one format");
  }
  for (const Format format : {Format::kPTQ1_0, Format::kQ2_0, Format::kQ3_K}) {
    ROTA_RETURN_IF_ERROR(check_expert_format(named.config, format));
  }
  return choice;
}

// Cuts the plan into `shards` runs of about equal bytes; every shard gets at least one tensor.
std::vector<size_t> shard_ends(const std::vector<PlannedTensor>& plan, size_t shards) {
  uint64_t total = planned_weights(plan), passed = 0;
  std::vector<size_t> ends;
  for (size_t i = 0; i < plan.size() && ends.size() + 1 < shards; ++i) {
    passed += planned_weights({plan[i]});
    const size_t left_after = plan.size() - (i + 1), shards_after = shards - ends.size() - 1;
    if (passed * shards >= total * (ends.size() + 1) || left_after == shards_after)
      ends.push_back(i + 1);
  }
  ends.push_back(plan.size());
  return ends;
}

// The files of one model: declared first, so that their size is known before a byte is written.
class ModelWriter {
 public:
  ModelWriter(const SyntheticOptions& options, Config config, const NamedConfig& named,
              Choice choice)
      : options_(options),
        config_(std::move(config)),
        harsh_(named.harsh),
        random_experts_(named.random_experts),
        choice_(choice) {}

  Status declare(const std::string& path, const TokenizerKeys* tokenizer) {
    std::vector<PlannedTensor> model = plan_tensors(config_, plan_options(false));
    if (options_.shards < 1 || static_cast<size_t>(options_.shards) > model.size()) {
      return Status(Code::kUsage, "shards must be 1 to " + std::to_string(model.size()) + ", not " +
                                      std::to_string(options_.shards));
    }
    const bool split = options_.shards > 1;
    const auto ends = shard_ends(model, static_cast<size_t>(options_.shards));
    const ShardName name = {model_stem(path), 0, options_.shards};
    size_t begin = 0;
    for (int shard = 0; shard < options_.shards; ++shard) {
      const size_t end = ends[static_cast<size_t>(shard)];
      File& file = add_file(split ? shard_path(name, shard) : path);
      if (shard == 0) {
        write_config(config_, options_.family, file.writer);
        write_tokenizer_keys(config_, tokenizer, file.writer);
      }
      if (split) {
        file.writer.key_u16("split.no", static_cast<uint16_t>(shard));
        file.writer.key_u16("split.count", static_cast<uint16_t>(options_.shards));
        file.writer.key_i32("split.tensors.count", static_cast<int32_t>(model.size()));
      }
      for (; begin < end; ++begin) file.tensors.push_back(std::move(model[begin]));
      files_.model.push_back(file.path);
      ROTA_RETURN_IF_ERROR(declare_tensors(file));
    }
    File& sidecar = add_file(sidecar_path(path));
    write_draft_config(config_, sidecar.writer);
    sidecar.tensors = plan_tensors(config_, plan_options(true));
    files_.sidecar = sidecar.path;
    files_.tokenizer = tokenizer != nullptr;
    return declare_tensors(sidecar);
  }

  Result<SyntheticFiles> write() {
    if (options_.before_write) ROTA_RETURN_IF_ERROR(options_.before_write(files_.bytes));
    uint64_t done = 0;
    for (size_t i = 0; i < writers_.size(); ++i) {
      const Status status = write_file(*writers_[i], done);
      if (status.ok()) continue;
      // Shards without the others, or without their sidecar, would be taken for a model.
      std::error_code ignored;
      for (size_t whole = 0; whole < i; ++whole) {
        std::filesystem::remove(writers_[whole]->path, ignored);
      }
      return status;
    }
    return files_;
  }

 private:
  struct File {
    explicit File(const std::string& name) : path(name), writer(name, kAlignment) {}
    std::string path;
    GgufWriter writer;
    std::vector<PlannedTensor> tensors;
  };

  Status write_file(File& file, uint64_t& done) {
    ROTA_RETURN_IF_ERROR(file.writer.begin_data());
    TensorSink sink(file.writer, [&](uint64_t weights) -> Status {
      done += weights;
      if (options_.progress) options_.progress(done, weights_);
      if (options_.stopped && options_.stopped()) return Status(Code::kCancelled, "interrupted");
      return Status();
    });
    for (const PlannedTensor& tensor : file.tensors) ROTA_RETURN_IF_ERROR(tensor.write(sink));
    return file.writer.finish();
  }

  PlanOptions plan_options(bool sidecar) const {
    return {
        options_.seed,          sidecar,       harsh_,         options_.family, options_.grid,
        options_.engram_tables, choice_.dense, choice_.engram, choice_.experts, random_experts_};
  }

  File& add_file(const std::string& path) {
    writers_.push_back(std::make_unique<File>(path));
    return *writers_.back();
  }

  Status declare_tensors(File& file) {
    for (const PlannedTensor& tensor : file.tensors) {
      ROTA_RETURN_IF_ERROR(file.writer.add_tensor(tensor.name, tensor.format, tensor.ne));
    }
    weights_ += planned_weights(file.tensors);
    files_.bytes += file.writer.file_bytes();
    return Status();
  }

  const SyntheticOptions& options_;
  const Config config_;
  const bool harsh_, random_experts_;
  const Choice choice_;
  std::vector<std::unique_ptr<File>> writers_;
  SyntheticFiles files_;
  uint64_t weights_ = 0;
};

}  // namespace

Format mixed_format(uint64_t seed, bool sidecar, int layer, int expert) {
  const std::string name = expert_blob_name(layer, "format");
  const uint64_t key = fnv1a64(sidecar ? sidecar_key(name) : name) ^ splitmix64(seed);
  const double u =
      unit_double(splitmix64_mix(key + static_cast<uint64_t>(expert + 1) * kGoldenGamma));
  if (u < kMixPTQ1_0) return Format::kPTQ1_0;
  return u < kMixPTQ1_0 + kMixQ2_0 ? Format::kQ2_0 : Format::kQ3_K;
}

Result<Config> synthetic_config(const NamedConfig& named, const TokenizerKeys* tokenizer) {
  Config config = named.config;
  if (tokenizer != nullptr) {
    TokenMap map = compress_tokens(*tokenizer);
    config.engram_token_map = std::move(map.ids);
    config.engram_compressed_vocab = map.compressed_vocab;
  } else {
    // Without text any map does that reaches every compressed id.
    for (int id = 0; id < config.vocab; ++id) {
      config.engram_token_map.push_back(id * config.engram_compressed_vocab / config.vocab);
    }
  }
  config.engram_pad_id = config.engram_token_map[static_cast<size_t>(config.engram_pad_token_id)];
  EngramTables tables = derive_engram_tables(config);
  config.engram_primes = std::move(tables.primes);
  config.engram_offsets = std::move(tables.offsets);
  config.engram_multipliers = std::move(tables.multipliers);
  ROTA_RETURN_IF_ERROR(validate_config(config));
  return config;
}

Result<SyntheticFiles> write_synthetic_model(const SyntheticOptions& options,
                                             const std::string& path) {
  if (!path.ends_with(".gguf") || parse_shard_name(path)) {
    return Status(Code::kUsage, "the model file must be named STEM.gguf, not '" + path + "'");
  }
  ROTA_ASSIGN_OR_RETURN(NamedConfig named, named_config(options.config));
  named.config.image_id = options.image_id;
  ROTA_ASSIGN_OR_RETURN(const Choice choice, choose_formats(options, named));
  std::optional<TokenizerKeys> tokenizer;
  if (named.config.vocab >= least_tokenizer_vocab()) {
    tokenizer = build_tokenizer(named.config.vocab);
  }
  const TokenizerKeys* const text = tokenizer ? &*tokenizer : nullptr;
  ROTA_ASSIGN_OR_RETURN(Config config, synthetic_config(named, text));
  ModelWriter writer(options, std::move(config), named, choice);
  ROTA_RETURN_IF_ERROR(writer.declare(path, text));
  return writer.write();
}

}  // namespace rota
