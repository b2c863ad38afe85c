// Formats, shards and files of a synthetic model.
#include "model/synthetic_model.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/rng.h"
#include "formats/shard_name.h"
#include "model/engram_tables.h"
#include "model/gguf_config.h"
#include "model/synthetic.h"
#include "model/synthetic_plan.h"
#include "model/synthetic_writer.h"
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
  ValueKind values;
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
  choice.values = options.values.value_or(named.random ? ValueKind::kRandom : ValueKind::kNormal);
  if (!is_weight_format(choice.experts.format) || !is_weight_format(choice.dense) ||
      !is_weight_format(choice.engram)) {
    return Status(Code::kUsage, "integer formats hold no weights");
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
              Choice choice, const RouterSkew* skew)
      : options_(options),
        config_(std::move(config)),
        harsh_(named.harsh),
        choice_(choice),
        skew_(skew) {}

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
      PlannedFile& file = add_file(split ? shard_path(name, shard) : path);
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
      written_.model.push_back(file.path);
      ROTA_RETURN_IF_ERROR(declare_tensors(file));
    }
    PlannedFile& sidecar = add_file(sidecar_path(path));
    write_draft_config(config_, sidecar.writer);
    sidecar.tensors = plan_tensors(config_, plan_options(true));
    written_.sidecar = sidecar.path;
    written_.tokenizer = tokenizer != nullptr;
    if (skew_ != nullptr) written_.ranking = skew_->ranking();
    return declare_tensors(sidecar);
  }

  Result<SyntheticFiles> write() {
    if (options_.before_write) ROTA_RETURN_IF_ERROR(options_.before_write(written_.bytes));
    uint64_t done = 0;
    WriteHooks hooks;
    hooks.made = [&](uint64_t weights) {
      done += weights;
      if (options_.progress) options_.progress(done, weights_);
    };
    hooks.stopped = options_.stopped;
    ROTA_RETURN_IF_ERROR(write_planned(files_, options_.threads, hooks));
    return written_;
  }

 private:
  PlanOptions plan_options(bool sidecar) const {
    PlanOptions plan;
    plan.seed = options_.seed;
    plan.sidecar = sidecar;
    plan.harsh = harsh_;
    plan.family = options_.family;
    plan.grid = choice_.values == ValueKind::kGrid;
    plan.random = choice_.values == ValueKind::kRandom;
    plan.engram_tables = options_.engram_tables;
    plan.dense = choice_.dense;
    plan.engram = choice_.engram;
    plan.experts = choice_.experts;
    plan.skew = sidecar ? nullptr : skew_;
    return plan;
  }

  PlannedFile& add_file(const std::string& path) {
    files_.push_back(std::make_unique<PlannedFile>(path, kAlignment));
    return *files_.back();
  }

  Status declare_tensors(PlannedFile& file) {
    for (const PlannedTensor& tensor : file.tensors) {
      ROTA_RETURN_IF_ERROR(file.writer.add_tensor(tensor.name, tensor.format, tensor.ne));
    }
    weights_ += planned_weights(file.tensors);
    written_.bytes += file.writer.file_bytes();
    return Status();
  }

  const SyntheticOptions& options_;
  const Config config_;
  const bool harsh_;
  const Choice choice_;
  const RouterSkew* skew_;
  std::vector<std::unique_ptr<PlannedFile>> files_;
  SyntheticFiles written_;
  uint64_t weights_ = 0;
};

std::string share(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", value * 100);
  return text;
}

// What the file says of itself, and every engine that opens it.
std::string origin(const SyntheticOptions& options, int all_layers, const Config& config,
                   ValueKind values, const SkewOptions& skew) {
  std::string text = options.config;
  if (config.layers != all_layers) {
    text += ", the first " + std::to_string(config.layers) + " of its " +
            std::to_string(all_layers) + " layers";
  }
  text += ", seed " + std::to_string(options.seed) + ", values " + value_kind_name(values);
  if (skew.experts == 0) return text;
  return text + ", " + share(skew.experts) + " of the experts get " + share(skew.lookups) +
         " of the lookups";
}

}  // namespace

const char* value_kind_name(ValueKind kind) {
  constexpr const char* kNames[] = {"normal", "grid", "random"};
  return kNames[static_cast<size_t>(kind)];
}

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
  const int all_layers = named.config.layers;
  if (options.layers != 0) ROTA_RETURN_IF_ERROR(cut_layers(named, options.layers));
  if (options.engram_rows != 0) {
    named.config.engram_start =
        std::max<int64_t>(2, options.engram_rows / named.config.engram_columns());
  }
  named.config.image_id = options.image_id;
  ROTA_ASSIGN_OR_RETURN(const Choice choice, choose_formats(options, named));
  const SkewOptions wanted = options.skew.value_or(named.skew);
  std::optional<RouterSkew> skew;
  if (wanted.experts > 0) {
    const Config& c = named.config;
    ROTA_ASSIGN_OR_RETURN(
        skew, RouterSkew::calibrate(wanted, options.seed, c.layers, c.experts, c.top_k));
  }
  std::optional<TokenizerKeys> tokenizer;
  if (named.config.vocab >= least_tokenizer_vocab()) {
    tokenizer = build_tokenizer(named.config.vocab);
  }
  const TokenizerKeys* const text = tokenizer ? &*tokenizer : nullptr;
  ROTA_ASSIGN_OR_RETURN(Config config, synthetic_config(named, text));
  config.synthetic = origin(options, all_layers, config, choice.values, wanted);
  ModelWriter writer(options, std::move(config), named, choice, skew ? &*skew : nullptr);
  ROTA_RETURN_IF_ERROR(writer.declare(path, text));
  return writer.write();
}

}  // namespace rota
