// The pool against the plain formula, and its bits against every way of cutting the same work.
#include "experts/expert_pool.h"

#include <doctest/doctest.h>

#include "experts/fake_blobs.h"
#include "formats/numbers.h"

namespace rota {
namespace {

constexpr int kDim = 256, kInter = 256, kExperts = 7;

ThreadPoolOptions of_threads(int n) {
  ThreadPoolOptions options;
  options.threads = n;
  options.pin = false;
  return options;
}

// Runs one call with its distinct experts cut into waves of `wave` jobs.
std::vector<float> run_pool(const FakeBlobs& blobs, const FakeCall& call, int threads, size_t wave,
                            float limit, bool act_quant = false) {
  ThreadPool pool(of_threads(threads));
  const ExpertShape shape{kDim, kInter, 20, call.top_k, limit, act_quant};
  auto experts = ExpertPool::create(pool, shape);
  REQUIRE(experts.ok());
  CallPlan plan(20, call.top_k, kExperts);
  plan.build(call.rows, call.top_k, call.ids.data());
  experts.value()->begin(plan, call.top_k, call.weights.data(), call.x.data());
  std::vector<std::vector<uint8_t>> memory;
  std::vector<ExpertJob> jobs;
  for (size_t i = plan.distinct().size(); i-- > 0;) {  // not the router's order
    const int e = plan.distinct()[i];
    memory.emplace_back(blobs.layout(0, e).bytes);
    REQUIRE(blobs.read(0, e, 0, memory.back().size(), memory.back().data()).ok());
    jobs.push_back({memory.back().data(), &blobs.layout(0, e), i});
  }
  for (size_t i = 0; i < jobs.size(); i += wave) {
    experts.value()->compute(std::span(jobs).subspan(i, std::min(wave, jobs.size() - i)));
  }
  std::vector<float> y(static_cast<size_t>(call.rows * kDim), -1.0f);
  experts.value()->finish(call.rows, y.data());
  return y;
}

}  // namespace

TEST_CASE("a call is grouped by distinct expert in order of first appearance") {
  CallPlan plan(3, 2, 10);
  const int ids[] = {7, 2, 2, 9, 7, 0};
  for (int again = 0; again < 2; ++again) {
    plan.build(3, 2, ids);
    CHECK(std::vector<int>(plan.distinct().begin(), plan.distinct().end()) ==
          std::vector<int>{7, 2, 9, 0});
    const auto pairs = [&](size_t i) {
      return std::vector<int>(plan.pairs_of(i).begin(), plan.pairs_of(i).end());
    };
    CHECK(pairs(0) == std::vector<int>{0, 4});
    CHECK(pairs(1) == std::vector<int>{1, 2});
    CHECK(pairs(2) == std::vector<int>{3});
    CHECK(pairs(3) == std::vector<int>{5});
    plan.build(1, 2, ids);
    CHECK(plan.distinct().size() == 2);
    CHECK(plan.pairs() == 2);
  }
}

TEST_CASE("the pool computes the formula in every blob format") {
  for (const Format f : kBlobFormats) {
    const FakeBlobs blobs(1, kExperts, kDim, kInter, {f});
    const FakeCall call(4, 3, kExperts, kDim, 5);
    for (const float limit : {0.6f, 1e9f}) {
      const auto y = run_pool(blobs, call, 2, 99, limit);
      const auto expected = blobs.reference(0, 4, 3, call.ids, call.weights, call.x, limit);
      float scale = 0;
      for (const float v : expected) scale = std::max(scale, std::fabs(v));
      for (size_t i = 0; i < y.size(); ++i) {
        CAPTURE(format_info(f).name);
        CHECK(std::fabs(y[i] - expected[i]) <= pool_tolerance(f, 256) * scale);
      }
    }
  }
}

TEST_CASE("bits do not depend on threads, on waves or on the rows beside") {
  const FakeBlobs blobs(1, kExperts, kDim, kInter, {Format::kQ2_0, Format::kQ3_K, Format::kPTQ1_0});
  const FakeCall call(20, 3, kExperts, kDim, 11);
  const auto all = run_pool(blobs, call, 1, 99, 10);
  CHECK(run_pool(blobs, call, 3, 99, 10) == all);
  CHECK(run_pool(blobs, call, 2, 1, 10) == all);
  for (int row = 0; row < call.rows; ++row) {
    FakeCall one = call;
    one.rows = 1;
    one.ids.assign(call.ids.begin() + row * 3, call.ids.begin() + row * 3 + 3);
    one.x.assign(call.x.begin() + row * kDim, call.x.begin() + (row + 1) * kDim);
    const auto y = run_pool(blobs, one, 2, 2, 10);
    CHECK(std::equal(y.begin(), y.end(), all.begin() + row * kDim));
  }
}

TEST_CASE("activation quantisation rounds what enters the down matrix") {
  const FakeBlobs blobs(1, kExperts, kDim, kInter, {Format::kF32});
  const FakeCall call(2, 2, kExperts, kDim, 3);
  const auto exact = run_pool(blobs, call, 2, 99, 10);
  const auto rounded = run_pool(blobs, call, 2, 99, 10, true);
  CHECK(exact != rounded);
  CHECK(run_pool(blobs, call, 1, 1, 10, true) == rounded);
  float largest = 0, difference = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::fabs(exact[i]));
    difference = std::max(difference, std::fabs(exact[i] - rounded[i]));
  }
  // e4m3 keeps 4 significant bits: each term moves by at most 1/16 of itself, and they do not all
  // move one way.
  CHECK(difference < largest / 8);
}

}  // namespace rota
