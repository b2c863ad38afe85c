// Attention of one head against its formula in double, over every kind of key set.
#include "device/host/attention_core.h"

#include <doctest/doctest.h>

#include <cmath>

#include "device/host/test_values.h"

namespace rota {
namespace {

constexpr int kDim = 16, kHeads = 3, kSlots = 11, kWindow = 5;

struct Scene {
  std::vector<float> q, ring = test_values(21, kSlots* kDim), block = test_values(22, 4 * kDim),
                        listed = test_values(23, 9 * kDim), sinks = test_values(24, kHeads);
  std::vector<int> list = {0, 3, 8, 1, 2, 0}, counts = {3, 2};
  std::vector<float> out;
  AttentionArgs args;

  explicit Scene(int rows)
      : q(test_values(20, static_cast<size_t>(rows * kHeads * kDim))), out(q.size()) {
    args.rows = rows;
    args.heads = kHeads;
    args.head_dim = kDim;
    args.window = kWindow;
    args.scale = 0.25f;
    args.q = DevPtr<const float>(q.data());
    args.sinks = DevPtr<const float>(sinks.data());
    args.ring = float_rows(ring, kDim);
    args.ring_slots = kSlots;
    args.out = DevPtr<float>(out.data());
  }
  void run() {
    std::vector<float> scratch(attention_scratch(args));
    for (int r = 0; r < args.rows; ++r) {
      for (int h = 0; h < kHeads; ++h) attention_head(args, r, h, scratch.data());
    }
  }
  // The formula in double over an explicit list of keys.
  void check(int row, const std::vector<const float*>& keys) const {
    for (int head = 0; head < kHeads; ++head) {
      const size_t at = static_cast<size_t>((row * kHeads + head) * kDim);
      double total = std::exp(static_cast<double>(sinks[static_cast<size_t>(head)]));
      std::vector<double> sum(kDim);
      for (const float* key : keys) {
        double z = 0;
        for (size_t d = 0; d < kDim; ++d) z += static_cast<double>(q[at + d]) * key[d];
        const double e = std::exp(z * 0.25);
        total += e;
        for (size_t d = 0; d < kDim; ++d) sum[d] += e * key[d];
      }
      for (size_t d = 0; d < kDim; ++d) REQUIRE(std::fabs(out[at + d] - sum[d] / total) <= 2e-6);
    }
  }
  const float* slot(int position) const { return ring.data() + (position % kSlots) * kDim; }
};

TEST_CASE("a causal row sees its window, itself last, through the ring") {
  Scene scene(2);
  scene.args.first_position = 23;
  scene.run();
  scene.check(0, {scene.slot(19), scene.slot(20), scene.slot(21), scene.slot(22), scene.slot(23)});
  scene.check(1, {scene.slot(20), scene.slot(21), scene.slot(22), scene.slot(23), scene.slot(24)});
}

TEST_CASE("at the sequence's start the window is what there is") {
  Scene scene(2);
  scene.run();
  scene.check(0, {scene.slot(0)});
  scene.check(1, {scene.slot(0), scene.slot(1)});
}

TEST_CASE("listed groups join the window, each row with its own list") {
  Scene scene(2);
  scene.args.first_position = 1;
  scene.args.listed_keys = float_rows(scene.listed, kDim);
  scene.args.list = DevPtr<const int>(scene.list.data());
  scene.args.list_count = DevPtr<const int>(scene.counts.data());
  scene.args.list_stride = 3;
  scene.run();
  const auto listed = [&](int i) { return scene.listed.data() + i * kDim; };
  scene.check(0, {scene.slot(0), scene.slot(1), listed(0), listed(3), listed(8)});
  scene.check(1, {scene.slot(0), scene.slot(1), scene.slot(2), listed(1), listed(2)});
}

TEST_CASE("a drafted block sees the window before it and all of itself") {
  Scene scene(4);
  scene.args.first_position = 7;
  scene.args.causal = false;
  scene.args.block = DevPtr<const float>(scene.block.data());
  scene.args.block_rows = 4;
  scene.run();
  std::vector<const float*> keys;
  for (int p = 2; p < 7; ++p) keys.push_back(scene.slot(p));
  for (int b = 0; b < 4; ++b) keys.push_back(scene.block.data() + b * kDim);
  for (int row = 0; row < 4; ++row) scene.check(row, keys);
}

TEST_CASE("no key at all gives zeros, whatever the sink") {
  Scene scene(1);
  scene.args.causal = false;
  std::fill(scene.out.begin(), scene.out.end(), 9.f);
  scene.run();
  for (const float value : scene.out) CHECK(value == 0.f);
}

TEST_CASE("scores far below the running maximum's floor do not make a NaN") {
  Scene scene(1);
  scene.args.scale = 1e30f;
  scene.run();
  for (const float value : scene.out) CHECK(std::isfinite(value));
}

}  // namespace
}  // namespace rota
