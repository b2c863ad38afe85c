// The decoder on a model of a few lines: speculation changes passes and never tokens, and the books
// agree.
#include "decode/decoder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "base/check.h"
#include "base/rng.h"
#include "base/temp_dir.h"
#include "experts/fake_blobs.h"

namespace rota {
namespace {

constexpr int kVocab = 7, kLayers = 3, kTopK = 2;

// Counts its lookups and computes nothing.
class CountingExperts : public CountedExperts {
 public:
  void begin_pass(PassKind, int) override {}
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
  const ModelOptions& options() const override { return options_; }
  bool can_draft() const override { return true; }
  Status forward(std::span<const int> tokens, PassKind, RoutedExperts& experts,
                 int first_logit_row) override {
    REQUIRE(first_logit_row >= 0);
    REQUIRE(first_logit_row < static_cast<int>(tokens.size()));
    logits_.clear();
    first_ = first_logit_row;
    for (const int token : tokens) {
      seen.push_back(token);
      logits_.push_back(row(seen, 0));
    }
    counters_.dense_bytes += 1000;
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
    *out = {depth, ids_.data(), conf_.data(), nullptr};
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
                   {depth, confidence, prompt_batch});
  }
  GenerateResult generate(const GenerateRequest& request, int depth, double confidence = 0,
                          int prompt_batch = 4) {
    Decoder d = decoder(depth, confidence, prompt_batch);
    auto result = d.generate(request, 0, cancelled, nullptr);
    REQUIRE(result.ok());
    return std::move(result).value();
  }
};

GenerateRequest request_of(int max_new) {
  GenerateRequest request;
  request.id = 7;
  request.prompt = {3, 4, 5, 2, 6, 0, 3};
  request.max_new = max_new;
  request.ignore_eos = true;
  return request;
}

void check_books(const GenerateResult& r) {
  int64_t tokens = 0;
  for (const int t : r.pass_tokens) tokens += t;
  CHECK(tokens + 1 == static_cast<int64_t>(r.ids.size()));
  CHECK(r.decode.passes == static_cast<int64_t>(r.pass_ms.size()));
  CHECK(r.decode.rows == r.decode.passes + r.decode.offered);
  CHECK(r.decode.accepted <= r.decode.offered);
  CHECK(r.decode.accepted + r.decode.passes + 1 >= static_cast<int64_t>(r.ids.size()));
  CHECK(r.decode.experts.lookups == r.decode.rows * kLayers * kTopK);
  CHECK(r.prefill.rows == r.prompt_tokens);
  CHECK(r.prefill.experts.lookups == r.prefill.rows * kLayers * kTopK);
  CHECK(r.decode.dense_bytes == 1000 * r.decode.passes);
}

}  // namespace

TEST_CASE("plain greedy decode: n tokens take n - 1 passes of one row") {
  Bench bench;
  const GenerateResult r = bench.generate(request_of(20), 0);
  CHECK(r.ids.size() == 20);
  CHECK(r.decode.passes == 19);
  CHECK(r.decode.rows == 19);
  CHECK(r.decode.offered == 0);
  CHECK(r.finish == Finish::kLength);
  CHECK(r.prefill.passes == 2);
  CHECK(bench.model.drafts == 0);
  check_books(r);
  std::vector<int> context = request_of(1).prompt;
  for (const int id : r.ids) {
    CHECK(id == argmax(ToyModel::row(context, 0)));
    context.push_back(id);
  }
}

TEST_CASE("speculation and prompt batches change passes, never greedy tokens") {
  Bench bench;
  for (const int n : {1, 2, 3, 11, 40}) {
    const GenerateResult plain = bench.generate(request_of(n), 0);
    for (const int depth : {1, 3, 5}) {
      for (const double confidence : {0.0, 0.5, 1.1}) {
        const GenerateResult r = bench.generate(request_of(n), depth, confidence, 1 + depth);
        CHECK(r.ids == plain.ids);
        CHECK(r.logits_sha256 == plain.logits_sha256);
        check_books(r);
        if (confidence > 1) CHECK(r.decode.offered == 0);
        if (confidence == 0 && n == 40) {
          CHECK(r.decode.accepted > 0);
          CHECK(r.decode.accepted < r.decode.offered);
          CHECK(r.decode.passes < plain.decode.passes);
        }
      }
    }
  }
}

TEST_CASE("the confidence gate verifies only drafts before the first doubtful one") {
  Bench bench;
  int64_t last = INT64_MAX;
  for (const double confidence : {0.0, 0.3, 0.6, 0.9, 1.1}) {
    const int64_t offered = bench.generate(request_of(40), 5, confidence).decode.offered;
    CHECK(offered <= last);
    last = offered;
  }
  CHECK(last == 0);
}

TEST_CASE("scripted drafts: all, none or half of them are accepted, and the tokens stay") {
  Bench bench;
  const GenerateResult plain = bench.generate(request_of(31), 0);
  std::ostringstream line;
  for (const int id : plain.ids) line << id << ' ';
  const auto with = [&](int corrupt, int depth) {
    bench.oracle = std::make_unique<DraftOracle>(
        std::move(DraftOracle::parse(line.str(), "o", corrupt, kVocab)).value());
    GenerateResult r = bench.generate(request_of(31), depth);
    CHECK(r.ids == plain.ids);
    check_books(r);
    return r;
  };
  const GenerateResult all = with(0, 5);
  CHECK(all.decode.passes == 5);
  CHECK(all.decode.accepted == all.decode.offered);
  const GenerateResult none = with(1, 5);
  CHECK(none.decode.passes == 30);
  CHECK(none.decode.accepted == 0);
  const GenerateResult half = with(2, 1);
  CHECK(half.decode.passes == 20);  // 2 tokens, 1 token, 2, 1, ...
  CHECK(half.decode.accepted == 10);
  CHECK(half.decode.offered == 19);  // the last pass wants one token and drafts none
  CHECK(bench.model.drafts == 0);
}

// 99.9 % quantile of chi-square with 6 degrees of freedom is 22.5.
TEST_CASE("sampled speculation draws each token from the target's distribution") {
  Bench bench;
  Decoder decoder = bench.decoder(3);
  GenerateRequest request = request_of(3);
  request.sampling.temperature = 1.3;
  request.sampling.top_p = 0.95;
  Distribution distribution(kVocab);
  std::map<int, std::map<int, int>> second;  // by first token
  const int n = 30000;
  int64_t accepted = 0;
  for (int i = 0; i < n; ++i) {
    request.sampling.seed = static_cast<uint64_t>(i);
    auto r = decoder.generate(request, 0, bench.cancelled, nullptr);
    REQUIRE(r.ok());
    ++second[r->ids[0]][r->ids[1]];
    accepted += r->decode.accepted;
  }
  CHECK(accepted > n / 4);
  for (const auto& [first, counts] : second) {
    int total = 0;
    for (const auto& [token, count] : counts) total += count;
    if (total < 500) continue;
    std::vector<float> p(kVocab);
    distribution.fill(ToyModel::row({3, first}, 0), request.sampling, p);
    double statistic = 0;
    for (int v = 0; v < kVocab; ++v) {
      const double expected = static_cast<double>(p[static_cast<size_t>(v)]) * total;
      const auto it = counts.find(v);
      const double seen = it == counts.end() ? 0 : it->second;
      if (expected == 0) {
        CHECK(seen == 0);
      } else {
        statistic += (seen - expected) * (seen - expected) / expected;
      }
    }
    CAPTURE(first);
    CHECK(statistic < 22.5);
  }
}

TEST_CASE("the same seed gives the same sampled tokens, another seed others") {
  Bench bench;
  GenerateRequest request = request_of(30);
  request.sampling.temperature = 1;
  for (const int depth : {0, 4}) {
    request.sampling.seed = 1;
    const auto a = bench.generate(request, depth).ids;
    CHECK(bench.generate(request, depth).ids == a);
    request.sampling.seed = 2;
    CHECK(bench.generate(request, depth).ids != a);
  }
}

TEST_CASE("a stop id ends the answer and is its last token, also inside a verified block") {
  Bench bench;
  const GenerateResult plain = bench.generate(request_of(30), 0);
  for (size_t at = 0; at < plain.ids.size(); ++at) {
    GenerateRequest request = request_of(30);
    request.stop = {plain.ids[at]};
    const auto first = std::find(plain.ids.begin(), plain.ids.end(), plain.ids[at]);
    const std::vector<int> expected(plain.ids.begin(), first + 1);
    for (const int depth : {0, 5}) {
      const GenerateResult r = bench.generate(request, depth);
      CHECK(r.ids == expected);
      CHECK(r.finish == Finish::kStop);
      check_books(r);
    }
  }
  GenerateRequest request = request_of(40);
  request.ignore_eos = false;
  const GenerateResult r = bench.generate(request, 0);
  if (r.finish == Finish::kStop) CHECK(r.ids.back() == 1);
  CHECK(std::find(r.ids.begin(), r.ids.end() - 1, 1) == r.ids.end() - 1);
}

TEST_CASE("requests that cannot be served say why, with numbers") {
  Bench bench;
  Decoder decoder = bench.decoder(0);
  const auto message = [&](const GenerateRequest& request) {
    const auto r = decoder.generate(request, 0, bench.cancelled, nullptr);
    CHECK(r.status().code() == Code::kBadRequest);
    return r.status().message();
  };
  GenerateRequest request = request_of(1);
  request.prompt.clear();
  CHECK(message(request) == "the prompt has no tokens");
  request = request_of(0);
  CHECK(message(request) == "max_new is 0: at least 1");
  request = request_of(5);
  request.prompt[2] = 7;
  CHECK(message(request) == "prompt[2] is 7: token ids are 0..6");
  request = request_of(5);
  request.stop = {-1};
  CHECK(message(request) == "stop[0] is -1: token ids are 0..6");
  CHECK(message(request_of(58)) ==
        "a prompt of 7 tokens + max_new 58 = 65 positions, the context holds 64 (--ctx)");
  CHECK(bench.generate(request_of(57), 5).ids.size() == 57);
}

TEST_CASE("a cancelled request keeps what it has") {
  Bench bench;
  Decoder decoder = bench.decoder(0);
  int tokens = 0;
  const auto r =
      decoder.generate(request_of(30), 0, bench.cancelled, [&](std::span<const int> ids) {
        tokens += static_cast<int>(ids.size());
        if (tokens == 5) bench.cancelled = true;
      });
  REQUIRE(r.ok());
  CHECK(r.value().ids.size() == 5);
  CHECK(r.value().finish == Finish::kCancelled);
  const auto before = decoder.generate(request_of(30), 0, bench.cancelled, nullptr);
  REQUIRE(before.ok());
  CHECK(before.value().ids.empty());
  CHECK(before.value().prefill.passes == 0);
}

TEST_CASE("the ledger has one line a decode pass, and its sums are the counters") {
  Bench bench;
  const TempDir dir;
  bench.ledger = std::move(Ledger::open(dir / "ledger.jsonl")).value();
  const GenerateResult r = bench.generate(request_of(30), 4);
  std::ifstream in(dir / "ledger.jsonl");
  std::string line;
  int64_t lines = 0, rows = 0, cpu = 0;
  const auto number = [&line](const std::string& key) {
    const size_t at = line.find("\"" + key + "\":");
    REQUIRE(at != std::string::npos);
    return std::stoll(line.substr(at + key.size() + 3));
  };
  while (std::getline(in, line)) {
    CHECK(number("id") == 7);
    CHECK(number("pass") == lines);
    rows += number("rows");
    cpu += number("cpu");
    ++lines;
  }
  CHECK(lines == r.decode.passes);
  CHECK(rows == r.decode.rows);
  CHECK(cpu == r.decode.experts.source[Source::kCpu]);
  CHECK(Ledger::open(dir / "no/such/folder").status().message().find("cannot write") !=
        std::string::npos);
}

TEST_CASE("a ledger line") {
  PassRecord pass;
  pass.request = 3;
  pass.pass = 1;
  pass.kind = PassKind::kVerify;
  pass.rows = 4;
  pass.offered = 3;
  pass.accepted = 2;
  pass.experts.source.of = {5, 1, 2, 3};
  pass.experts.distinct.of = {4, 0, 2, 3};
  pass.experts.bytes.of = {40, 0, 20, 30};
  pass.experts.blobs[0][4] = 4;
  pass.experts.blobs[2][kBlobFormats.size()] = 2;
  pass.experts.blobs[3][6] = 3;
  pass.experts.late = 1;
  pass.experts.experts_ns = 2500000;
  pass.dense_bytes = 99;
  pass.engram_bytes = 7;
  pass.total_ns = 4000001;
  CHECK(
      ledger_line(pass) ==
      "{\"id\":3,\"pass\":1,\"kind\":\"verify\",\"rows\":4,\"offered\":3,\"accepted\":2,\"hit\":5,"
      "\"pcie\":1,\"cpu\":2,\"file\":3,\"skipped\":0,\"late\":1,\"distinct\":{\"hit\":4,\"pcie\":0,"
      "\"cpu\":2,\"file\":3},\"blobs\":{\"hit\":{\"Q2_0\":4},\"cpu\":{\"mixed\":2},\"file\":{"
      "\"PTQ1_0\":3}},\"bytes\":{\"hit\":40,\"pcie\":0,\"cpu\":20,\"file\":30,\"dense\":99,"
      "\"engram\":7},\"ms\":{\"total\":4.000001,\"draft\":0.000000,\"dense\":0.000000,"
      "\"experts\":2.500000,\"file_wait\":0.000000}}\n");
}

TEST_CASE("a failed pass is the request's error, and the next request works") {
  Bench bench;
  Decoder decoder = bench.decoder(0);
  bench.experts.fail = true;
  CHECK(decoder.generate(request_of(5), 0, bench.cancelled, nullptr).status().message() ==
        "disk on fire");
  bench.experts.fail = false;
  CHECK(decoder.generate(request_of(5), 0, bench.cancelled, nullptr)->ids.size() == 5);
}

TEST_CASE("scoring gives log-probabilities, best tokens and the same numbers for any batch") {
  Bench bench;
  ScoreRequest request;
  request.tokens = {3, 4, 5, 2, 6, 0, 3};
  const auto score = [&](int batch) {
    Decoder decoder = bench.decoder(0, 0, batch);
    auto r = decoder.score(request, bench.cancelled);
    REQUIRE(r.ok());
    return std::move(r).value();
  };
  const ScoreResult r = score(3);
  REQUIRE(r.logprobs.size() == 6);
  const auto logits = ToyModel::row({3, 4}, 0);
  double sum = 0;
  for (const float v : logits) sum += std::exp(static_cast<double>(v));
  CHECK(r.logprobs[1] == doctest::Approx(static_cast<double>(logits[5]) - std::log(sum)));
  CHECK(r.top1[1] == argmax(logits));
  CHECK(r.next == argmax(ToyModel::row({0, 3}, 0)));
  CHECK(score(1).logprobs == r.logprobs);
  CHECK(score(16).logits_sha256 == r.logits_sha256);
  request.tokens = {3};
  CHECK(bench.decoder(0).score(request, bench.cancelled).status().message() ==
        "score needs at least 2 tokens, got 1");
}

}  // namespace rota
