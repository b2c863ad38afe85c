// What a pass asks, kept and replayed: the answers of launches one by one, whatever changes between
// passes.
#include <doctest/doctest.h>

#include "device/cuda/both_devices.h"
#include "device/cuda/cuda_device.cuh"

namespace rota {
namespace {

constexpr int kWidth = 64, kLayers = 5;

// A pass of a made-up model: each layer scales by its own factor, adds what it is given, and
// turns pairs by where the pass stands; `extra` is one more operation in a layer.
struct Pass {
  int first = 0, extra_layer = -1;
  float seen = 0;  // by an upload between two layers
};

std::vector<float> run(OnDevice& on, const std::vector<Pass>& passes, int rows, bool kept) {
  const size_t count = static_cast<size_t>(rows) * kWidth;
  const DevPtr<float> x = on.room<float>(count), y = on.room<float>(count);
  std::vector<float> freq(8, .25f), ones(kWidth, 1.f);
  const DevPtr<float> turns = on.put(freq), weight = on.put(ones);
  std::vector<float> all;
  for (const Pass& pass : passes) {
    on.device.begin_pass(kept ? rows : 0);
    const std::vector<float> values = test_values(static_cast<uint64_t>(pass.first + 1), count);
    on.device.upload(x.address(), values.data(), count * sizeof(float));
    for (int layer = 0; layer < kLayers; ++layer) {
      on.device.scale(x, count, 1.f + .125f * static_cast<float>(layer));
      on.device.copy(y.address(), x.address(), count * sizeof(float));
      on.device.rope(y, rows, 1, kWidth, turns, 8, pass.first, 1, false);
      on.device.rms(y, weight, rows, kWidth, 1e-6f, y);
      if (layer == pass.extra_layer) on.device.add(x, count, y);
      if (layer == 2 && pass.seen != 0) {
        const std::vector<float> seen(count, pass.seen);
        on.device.upload(y.address(), seen.data(), count * sizeof(float));
      }
      on.device.add(y, count, x);
    }
    const std::vector<float> answer = on.get(x, count);
    all.insert(all.end(), answer.begin(), answer.end());
  }
  on.device.begin_pass(0);
  return all;
}

const std::vector<Pass> kPasses = {{0}, {3}, {4, 1}, {3}, {5, 1, 2.f}, {6, -1, .5f}, {9, 4}, {3}};

TEST_CASE("passes that are kept and replayed have the bits of launches one by one") {
  for (const int rows : {1, 3, 16}) {
    const auto once = on_gpu([&](OnDevice& on) { return run(on, kPasses, rows, false); });
    CHECK(equal_bits(once, on_gpu([&](OnDevice& on) { return run(on, kPasses, rows, true); })));
  }
}

TEST_CASE("a pass that comes again makes no graph of its own") {
  LaunchQueue& queue = stream_of(gpu_device()).queue();
  const auto graphs_of = [&](const std::vector<Pass>& passes) {
    const size_t before = queue.graphs();
    on_gpu([&](OnDevice& on) { return run(on, passes, 7, true); });
    return queue.graphs() - before;
  };
  CHECK(graphs_of({{0}}) == 1);  // all of the pass lies between an upload and a download
  CHECK(graphs_of({{0}}) <= 1);  // its memory lies elsewhere
  const size_t again = queue.graphs();
  on_gpu([&](OnDevice& on) { return run(on, {{1}, {2}, {3}, {4}}, 7, true); });
  CHECK(queue.graphs() - again <= 1);
}

TEST_CASE("a long pass is launched at once") {
  LaunchQueue& queue = stream_of(gpu_device()).queue();
  const size_t before = queue.graphs();
  on_gpu([&](OnDevice& on) { return run(on, {{0}, {1}}, 17, true); });
  CHECK(queue.graphs() == before);
}

TEST_CASE("downloads: many at once, of any size and alignment, in their order") {
  on_gpu([](OnDevice& on) {
    constexpr size_t kBytes = 70'001;
    std::vector<uint8_t> values(kBytes);
    for (size_t i = 0; i < kBytes; ++i) values[i] = static_cast<uint8_t>(i * 7 + i / 256);
    const DevPtr<uint8_t> at = on.put(values);
    for (const int rows : {0, 1}) {
      on.device.begin_pass(rows);
      for (const size_t offset : {size_t{0}, size_t{1}, size_t{4}, size_t{4099}}) {
        std::vector<uint8_t> all(kBytes - offset), few(3), one(1);
        on.device.begin_download(all.data(), at.address() + offset, all.size());
        on.device.begin_download(few.data(), at.address() + offset + 5, few.size());
        on.device.begin_download(one.data(), at.address() + offset, one.size());
        on.device.finish_downloads();
        CHECK(std::equal(all.begin(), all.end(), values.begin() + static_cast<long>(offset)));
        CHECK(std::equal(few.begin(), few.end(), values.begin() + static_cast<long>(offset) + 5));
        CHECK(one[0] == values[offset]);
      }
    }
    on.device.begin_pass(0);
    return 0;
  });
}

}  // namespace
}  // namespace rota
