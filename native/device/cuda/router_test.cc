#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "device/cuda/both_devices.h"

namespace rota {
namespace {

struct Routed {
  std::vector<int> ids;
  std::vector<float> weights;
};

Routed route(OnDevice& on, const std::vector<float>& logits, const std::vector<float>& bias,
             bool selection, int rows, int top_k) {
  const int experts = static_cast<int>(bias.size());
  const size_t chosen = static_cast<size_t>(rows * top_k);
  const DevPtr<int> ids = on.room<int>(chosen);
  const DevPtr<float> weights = on.room<float>(chosen);
  std::vector<float> extra(bias.size());
  for (size_t e = 0; e < extra.size(); ++e) extra[e] = e % 5 == 0 ? 1.5f : 0.f;
  on.device.route(on.put(logits), on.put(bias), selection ? on.put(extra) : DevPtr<float>(), rows,
                  experts, top_k, 1.5f, ids, weights);
  return {on.get(ids, chosen), on.get(weights, chosen)};
}

TEST_CASE("routes: the host's experts in the host's order, weights within their roundings") {
  for (const auto& [experts, top_k, rows] :
       {std::tuple{384, 6, 16}, {8, 2, 3}, {7, 7, 1}, {33, 1, 5}}) {
    for (const bool selection : {false, true}) {
      // Scores stand apart by more than two libraries' exponentials may differ.
      std::vector<float> logits(static_cast<size_t>(rows * experts));
      for (size_t i = 0; i < logits.size(); ++i) {
        const size_t row = i / static_cast<size_t>(experts), e = i % static_cast<size_t>(experts);
        logits[i] = static_cast<float>((e * 101 + row * 37) % 1009) / 50.f - 9.f;
      }
      const std::vector<float> bias(static_cast<size_t>(experts), .25f);
      const auto run = [&](OnDevice& on) {
        return route(on, logits, bias, selection, rows, top_k);
      };
      const Routed gpu = on_gpu(run), host = on_host(run);
      CHECK(gpu.ids == host.ids);
      // exp, log1p and a root on either side, a sum of top_k, a quotient and a product.
      check_near("route " + std::to_string(top_k) + " of " + std::to_string(experts), gpu.weights,
                 host.weights, 1.5, 16 + 2 * top_k);
    }
  }
}

TEST_CASE("routes: the lowest of equal experts first") {
  const std::vector<float> logits(2 * 40, .5f), bias(40, 0.f);
  const auto run = [&](OnDevice& on) { return route(on, logits, bias, false, 2, 4); };
  CHECK(on_gpu(run).ids == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3});
}

TEST_CASE("routes: logits that are no numbers still name different experts") {
  const std::vector<float> logits(20, NAN), bias(20, 0.f);
  const Routed routed = on_gpu([&](OnDevice& on) { return route(on, logits, bias, false, 1, 6); });
  const std::set<int> ids(routed.ids.begin(), routed.ids.end());
  CHECK(ids.size() == 6);
  CHECK(*ids.begin() >= 0);
  CHECK(*ids.rbegin() < 20);
}

}  // namespace
}  // namespace rota
