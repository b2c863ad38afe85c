// The fixture's code; it is a _test file so that no library contains it.
#include "model/sequence_fixture.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/check.h"
#include "base/rng.h"
#include "base/temp_dir.h"
#include "model/synthetic_model.h"

namespace rota {

WeightSource& test_model(const std::string& name) {
  static TempDir folder;
  static std::map<std::string, std::unique_ptr<WeightSource>> opened;
  std::unique_ptr<WeightSource>& source = opened[name];
  if (source == nullptr) {
    const std::string path = folder / (name + ".gguf");
    SyntheticOptions options;
    options.config = name;
    options.expert_format = Format::kF32;
    options.dense_format = Format::kF32;
    options.family = Family::kA;
    const Result<SyntheticFiles> files = write_synthetic_model(options, path);
    ROTA_CHECK(files.ok(), files.status().message());
    Result<std::unique_ptr<WeightSource>> result = WeightSource::open(path);
    ROTA_CHECK(result.ok(), result.status().message());
    source = std::move(result).value();
  }
  return *source;
}

std::vector<int> test_tokens(const Config& config, uint64_t seed, size_t n) {
  std::vector<int> out(n);
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<int>(splitmix64_mix(splitmix64(seed) + (i + 1) * kGoldenGamma) %
                              static_cast<uint64_t>(config.vocab));
  }
  return out;
}

TestSequence::TestSequence(const std::string& model_name, const TestOptions& options)
    : TestSequence(test_model(model_name), options) {}

TestSequence::TestSequence(WeightSource& source, const TestOptions& options)
    : pool_(options.threads > 0 ? std::make_unique<ThreadPool>(
                                      ThreadPoolOptions{.threads = options.threads, .pin = false})
                                : nullptr),
      host_(make_host_device(pool_.get())),
      experts_(source, ResidentExperts::Which::kTarget, options.act_quant),
      draft_experts_(source, ResidentExperts::Which::kDraft, options.act_quant) {
  ModelOptions model_options;
  model_options.ctx = options.ctx;
  model_options.max_rows = options.max_rows;
  model_options.max_logit_rows = options.max_rows;
  model_options.kv = options.kv;
  model_options.expert_step = options.expert_step;
  model_options.kv_quant = options.kv_quant;
  model_options.act_quant = options.act_quant;
  Device& device = options.device != nullptr ? *options.device : *host_;
  model_ = std::make_unique<DeepSeekModel>(source, device, model_options);
  const Status status = model_->prepare();
  ROTA_CHECK(status.ok(), status.message());
}

std::vector<float> TestSequence::run(std::span<const int> tokens, int chunk) {
  std::vector<float> out;
  for (size_t at = 0; at < tokens.size(); at += static_cast<size_t>(chunk)) {
    const std::span<const int> rows =
        tokens.subspan(at, std::min(static_cast<size_t>(chunk), tokens.size() - at));
    const std::vector<float> logits = pass(rows, PassKind::kPrefill);
    out.insert(out.end(), logits.begin(), logits.end());
    const Status status = model_->commit_draft_context(static_cast<int>(rows.size()));
    ROTA_CHECK(status.ok(), status.message());
  }
  return out;
}

std::vector<float> TestSequence::pass(std::span<const int> tokens, PassKind kind) {
  const Status status = model_->forward(tokens, kind, experts_, 0);
  ROTA_CHECK(status.ok(), status.message());
  std::vector<float> out;
  for (int row = 0; row < static_cast<int>(tokens.size()); ++row) {
    const float* logits = model_->logits(row);
    ROTA_CHECK(model_->best(row) == argmax(logits, config().vocab), "best of row", row);
    out.insert(out.end(), logits, logits + config().vocab);
  }
  return out;
}

int argmax(const float* values, int n) {
  return static_cast<int>(std::max_element(values, values + n) - values);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace rota
