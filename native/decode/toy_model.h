// Test material: a model of a few lines whose logits follow from the last two tokens, experts that
// only count, and a bench that decodes with them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "base/check.h"
#include "base/rng.h"
#include "base/temp_dir.h"
#include "decode/decoder.h"
#include "experts/fake_blobs.h"

namespace rota {

inline constexpr int kVocab = 7, kLayers = 3, kTopK = 2;

// Counts its lookups and computes nothing.
class CountingExperts : public CountedExperts {
 public:
  void begin_pass(PassKind kind, int) override { passes.push_back(kind); }
  const float* selection_bias(int) override { return nullptr; }
  void hint(int, int, int, const int*) override {}
  Status run(int, int rows, int top_k, const int*, const float*, const float*, float*) override {
    tally_.lookups += rows * top_k;
    tally_.source[Source::kCpu] += rows * top_k;
    return fail ? Status(Code::kIo, "disk on fire") : Status();
  }
  ExpertTally take_tally() override {
    const ExpertTally tally = tally_;
    tally_ = ExpertTally();
    return tally;
  }
  bool fail = false;
  std::vector<PassKind> passes;

 private:
  ExpertTally tally_;
};

// Logits are a function of the last two tokens. Its drafter has its own, similar logits, and
// refuses to be told wrong positions.
class ToyModel : public Model {
 public:
  ToyModel() {
    config_.vocab = kVocab;
    config_.eos_id = 1;
    options_.ctx = 64;
    options_.max_rows = 16;
  }
  const Config& config() const override { return config_; }
  void set_image_id(int id) { config_.image_id = id; }
  const ModelOptions& options() const override { return options_; }
  bool can_draft() const override { return true; }
  Status forward(std::span<const int> tokens, PassKind kind, RoutedExperts& experts,
                 int first_logit_row) override {
    REQUIRE(first_logit_row >= 0);
    experts.begin_pass(kind, static_cast<int>(tokens.size()));
    REQUIRE(first_logit_row <= static_cast<int>(tokens.size()));
    logits_.clear();
    first_ = first_logit_row;
    for (const int token : tokens) {
      seen.push_back(token);
      logits_.push_back(row(seen, 0));
    }
    counters_.dense_bytes += 1000;
    counters_.head_rows += tokens.size() - static_cast<size_t>(first_logit_row);
    counters_.engram_rows += tokens.size();
    counters_.engram_bytes += 16 * tokens.size();
    for (int l = 0; l < kLayers; ++l) {
      const Status status = experts.run(l, static_cast<int>(tokens.size()), kTopK, nullptr, nullptr,
                                        nullptr, nullptr);
      if (!status.ok()) return status;
    }
    return Status();
  }
  const float* logits(int r) const override {
    REQUIRE(r >= first_);
    return logits_[static_cast<size_t>(r)].data();
  }
  int best(int r) const override { return argmax({logits(r), kVocab}); }
  const float* draft_logits(int) const override { return nullptr; }
  int position() const override { return static_cast<int>(seen.size()); }
  Status truncate(int position) override {
    REQUIRE(position <= this->position());
    seen.resize(static_cast<size_t>(position));
    if (position == 0) context_ = 0;
    return Status();
  }
  Status commit_draft_context(int rows) override {
    context_ += rows;
    return Status();
  }
  Status draft(int next, int depth, RoutedExperts&, DraftPicker* picker, DraftOut* out) override {
    REQUIRE(context_ == position());
    std::vector<int> context = seen;
    context.push_back(next);
    ids_.clear();
    conf_.clear();
    for (int i = 0; i < depth; ++i) {
      const auto logits = row(context, 3);
      const int id = picker == nullptr ? argmax(logits) : picker->pick(i, logits.data(), kVocab);
      conf_.push_back(seeded_float(splitmix64(static_cast<uint64_t>(context.size()))) * 4);
      ids_.push_back(id);
      context.push_back(id);
    }
    counters_.draft_dense_bytes += 10;
    ++drafts;
    *out = {depth, ids_.data(), conf_.data()};
    return Status();
  }
  const ModelCounters& counters() const override { return counters_; }
  size_t kv_bytes() const override { return 0; }
  size_t dense_bytes() const override { return 0; }
  size_t engram_bytes() const override { return 0; }

  // salt 0 is the target's; another salt often disagrees.
  static std::vector<float> row(const std::vector<int>& context, int salt) {
    uint64_t key = static_cast<uint64_t>(context.back());
    if (context.size() > 1) key += 100 * static_cast<uint64_t>(context[context.size() - 2]);
    std::vector<float> logits;
    for (int v = 0; v < kVocab; ++v) {
      const uint64_t at = key * 64 + static_cast<uint64_t>(v);
      float logit = 3 * seeded_float(at);
      if (salt != 0) logit += 2 * seeded_float(at + 1000003u * static_cast<uint64_t>(salt));
      logits.push_back(logit);
    }
    return logits;
  }

  std::vector<int> seen;
  int drafts = 0;

 private:
  Config config_;
  ModelOptions options_;
  std::vector<std::vector<float>> logits_;
  int first_ = 0, context_ = 0;
  std::vector<int> ids_;
  std::vector<float> conf_;
  ModelCounters counters_;
};

struct Bench {
  ToyModel model;
  CountingExperts experts;
  ThreadPool threads{[] {
    ThreadPoolOptions options;
    options.threads = 1;
    options.pin = false;
    return options;
  }()};
  FakeBlobs blobs{1, 2, 32, 32, {Format::kF32}};
  std::unique_ptr<DraftExperts> draft =
      std::move(DraftExperts::load(blobs, threads, ExpertShape{32, 32, 16, 1, 10.f, false}))
          .value();
  std::unique_ptr<DraftOracle> oracle;
  std::unique_ptr<Ledger> ledger;
  std::atomic<bool> cancelled{false};

  Decoder decoder(int depth, double confidence = 0, int prompt_batch = 4) {
    return Decoder({&model, &experts, draft.get(), oracle.get(), ledger.get()},
                   {depth, confidence, prompt_batch, {}});
  }
  GenerateResult generate(const GenerateRequest& request, int depth, double confidence = 0,
                          int prompt_batch = 4) {
    Decoder d = decoder(depth, confidence, prompt_batch);
    auto result = d.generate(request, 0, cancelled, nullptr);
    REQUIRE(result.ok());
    return std::move(result).value();
  }
};

inline GenerateRequest request_of(int max_new) {
  GenerateRequest request;
  request.id = 7;
  request.prompt = {3, 4, 5, 2, 6, 0, 3};
  request.max_new = max_new;
  request.ignore_eos = true;
  return request;
}

inline void check_books(const GenerateResult& r) {
  int64_t tokens = 0;
  for (const int t : r.pass_tokens) tokens += t;
  CHECK(tokens + 1 == static_cast<int64_t>(r.ids.size()));
  CHECK(r.decode.passes == static_cast<int64_t>(r.pass_ms.size()));
  CHECK(r.decode.rows == r.decode.passes + r.decode.offered);
  CHECK(r.decode.accepted <= r.decode.offered);
  // A pass gives its accepted drafts and one more; the one that stopped inside its drafts does not.
  const int64_t given = static_cast<int64_t>(r.ids.size()) - 1;
  CHECK(r.decode.accepted + r.decode.passes >= given);
  CHECK(r.decode.accepted + r.decode.passes <= given + (r.finish == Finish::kStop ? 1 : 0));
  CHECK(r.decode.experts.lookups == r.decode.rows * kLayers * kTopK);
  CHECK(r.prefill.rows == r.prompt_tokens);
  CHECK(r.prefill.head_rows == 1);
  CHECK(r.decode.head_rows == r.decode.rows);
  CHECK(r.prefill.experts.lookups == r.prefill.rows * kLayers * kTopK);
  CHECK(r.decode.dense_bytes == 1000 * r.decode.passes);
  for (const PassTotals* t : {&r.decode, &r.prefill}) {
    CHECK(t->engram_rows == t->rows);
    CHECK(t->engram_bytes == 16 * t->rows);
  }
}

}  // namespace rota
