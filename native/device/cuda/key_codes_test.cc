#include "formats/key_codes.h"

#include <doctest/doctest.h>

#include "device/cuda/both_devices.h"

namespace rota {
namespace {

constexpr FakeQuant kKinds[] = {FakeQuant::kFp8Block32, FakeQuant::kFp4E8m0Block32,
                                FakeQuant::kFp4E4m3Block16};
constexpr KeyFormat kFormats[] = {KeyFormat::kF32, KeyFormat::kF16, KeyFormat::kFp8Block32,
                                  KeyFormat::kFp4E8m0Block32, KeyFormat::kFp4E4m3Block16};

// Magnitudes from subnormal scales to saturation, ties of both grids, zeros of both signs.
std::vector<float> hard_values(size_t n) {
  std::vector<float> x = test_values(3, n);
  for (size_t i = 0; i < n; ++i) {
    x[i] *= std::ldexp(1.f, static_cast<int>(i / 32 % 60) - 40);
    if (i % 7 == 3) x[i] = std::ldexp(std::round(std::ldexp(x[i], 4)), -4);
    if (i % 11 == 5) x[i] = i % 2 == 0 ? 0.f : -0.f;
    if (i / 32 % 9 == 4) x[i] = i % 32 == 0 ? 6.f : .25f * static_cast<float>(i % 32);
  }
  return x;
}

TEST_CASE("the three roundings: the host's bits") {
  for (const FakeQuant kind : kKinds) {
    for (const size_t n : {size_t{32}, size_t{96}, size_t{4096 * 5}}) {
      const auto run = [&](OnDevice& on) {
        const DevPtr<float> x = on.put(hard_values(n));
        on.device.fake_quant(kind, x, n);
        return on.get(x, n);
      };
      CHECK(equal_bits(on_gpu(run), on_host(run)));
    }
  }
  // A count of 16 is a multiple of this rounding's block alone.
  const auto run = [&](OnDevice& on) {
    const DevPtr<float> x = on.put(hard_values(48));
    on.device.fake_quant(FakeQuant::kFp4E4m3Block16, x, 48);
    return on.get(x, 48);
  };
  CHECK(equal_bits(on_gpu(run), on_host(run)));
}

TEST_CASE("stored keys: the host's bytes, around the ring's end") {
  for (const KeyFormat format : kFormats) {
    for (const int dim : {32, 64, 512}) {
      CAPTURE(static_cast<int>(format));
      CAPTURE(dim);
      const int slots = 11, rows = 7, first = 8;
      const auto run = [&](OnDevice& on) {
        KeyRows keys{format, dim, {}};
        const size_t bytes = slots * keys.row_bytes();
        keys.data = on.put(std::vector<uint8_t>(bytes, 0xaa));
        const DevPtr<float> x = on.put(hard_values(static_cast<size_t>(rows * dim)));
        on.device.store_keys(x, rows, first, keys, slots);
        return on.get(keys.data, bytes);
      };
      CHECK(equal_bits(on_gpu(run), on_host(run)));
    }
  }
}

}  // namespace
}  // namespace rota
