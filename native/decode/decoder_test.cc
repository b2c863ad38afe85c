// Speculation changes passes and never tokens, sampled ones keep their distribution, and the books
// agree.
#include <cmath>
#include <map>
#include <sstream>

#include "decode/toy_model.h"

namespace rota {

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

}  // namespace rota
