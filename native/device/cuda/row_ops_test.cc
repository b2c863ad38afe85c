#include <doctest/doctest.h>

#include "device/cuda/both_devices.h"

namespace rota {
namespace {

// Sums of n squares: n / 8 roundings on the host, n / 512 and a tree on the GPU; then a root, a
// quotient and two products, of values up to `size`.
double norm_roundings(int n) { return n / 8.0 + n / 512.0 + 30; }

TEST_CASE("rms: the host's answers, also in place") {
  for (const int n : {32, 80, 512, 5120}) {
    for (const bool in_place : {false, true}) {
      const int rows = 5;
      const size_t count = static_cast<size_t>(rows * n);
      const auto run = [&](OnDevice& on) {
        const DevPtr<float> x = on.put(test_values(1, count, 3)),
                            y = in_place ? x : on.room<float>(count);
        on.device.rms(x, on.put(test_values(2, static_cast<size_t>(n))), rows, n, 1e-6f, y);
        return on.get(y, count);
      };
      check_near("rms of " + std::to_string(n), on_gpu(run), on_host(run), 2, norm_roundings(n));
    }
  }
}

TEST_CASE("rope: the host's answers at small and large positions, forward and back") {
  const int heads = 3, dim = 96, pairs = 16, rows = 6;
  std::vector<float> freq;
  for (int i = 0; i < pairs; ++i) {
    freq.push_back(static_cast<float>(std::pow(10000.0, -2.0 * i / (2 * pairs))));
  }
  const size_t count = static_cast<size_t>(rows * heads * dim);
  for (const int first : {0, 1000, 131072, 1048570}) {
    for (const int step : {1, 2}) {
      for (const bool inverse : {false, true}) {
        const auto run = [&](OnDevice& on) {
          const DevPtr<float> x = on.put(test_values(4, count));
          on.device.rope(x, rows, heads, dim, on.put(freq), pairs, first, step, inverse);
          return on.get(x, count);
        };
        // Sines and cosines of the same fp32 angle, two units in the last place off at most on
        // either side, and three roundings.
        check_near("rope at " + std::to_string(first), on_gpu(run), on_host(run), 2, 11);
      }
    }
  }
}

TEST_CASE("ring writes: the host's bytes, around the ring's end") {
  const auto run = [](OnDevice& on) {
    const DevPtr<float> ring = on.room<float>(9 * 70);
    on.device.ring_write(on.put(test_values(5, 6 * 70)), 6, 70, 22, ring, 9);
    return on.get(ring, 9 * 70);
  };
  CHECK(equal_bits(on_gpu(run), on_host(run)));
}

TEST_CASE("compress: the host's answers; a group of one token is that token") {
  const int slots = 24, dim = 100, groups = 5;
  for (const int ratio : {1, 2, 3, 8}) {
    const auto run = [&](OnDevice& on) {
      const DevPtr<float> out = on.room<float>(groups * dim);
      on.device.compress(on.put(test_values(6, slots * dim)),
                         on.put(test_values(7, slots * dim, 9)), slots, ratio, 4, groups, dim, out);
      return on.get(out, groups * dim);
    };
    if (ratio == 1) CHECK(equal_bits(on_gpu(run), on_host(run)));
    // Exponentials two units off, of differences that are exact; a sum, a quotient.
    check_near("compress by " + std::to_string(ratio), on_gpu(run), on_host(run), 1,
               2 * (5 + ratio));
  }
}

TEST_CASE("engram gate: the host's answers") {
  const int rows = 3, mult = 4, dim = 320;
  const size_t count = rows * mult * dim;
  const auto run = [&](OnDevice& on) {
    const DevPtr<float> h = on.put(test_values(8, count));
    on.device.engram_gate(h, on.put(test_values(9, rows * (mult + 1) * dim)),
                          on.put(test_values(10, mult * dim)), on.put(test_values(11, mult * dim)),
                          rows, mult, dim, 1e-6f);
    return on.get(h, count);
  };
  // The product's terms are below 1 and it is divided by dim / 3 (the norms) and sqrt(dim); under
  // the root an error grows by 1 / (2 * 1e-3) at most; the gate's slope is 1/4.
  const double product = dim * (dim + dim / 512.0 + 10) * kRounding;
  const double gate = product * 3 / dim / std::sqrt(dim) * 500 / 4;
  check_within("engram gate", on_gpu(run), on_host(run),
               std::vector<double>(count, gate + 2 * norm_roundings(dim) * kRounding));
}

TEST_CASE("elementwise: swiglu within its exponential, scale and add to the bit") {
  const size_t n = 3000;
  const auto swiglu = [&](OnDevice& on) {
    const DevPtr<float> gate = on.put(test_values(12, n, 12));
    on.device.swiglu(gate, on.put(test_values(13, n, 12)), n, 7.f, gate);
    return on.get(gate, n);
  };
  check_near("swiglu", on_gpu(swiglu), on_host(swiglu), 49, 10);
  const auto sums = [&](OnDevice& on) {
    const DevPtr<float> x = on.put(test_values(14, n)), y = on.put(test_values(15, n));
    on.device.scale(x, n, .37f);
    on.device.add(x, n, y);
    return on.get(y, n);
  };
  CHECK(equal_bits(on_gpu(sums), on_host(sums)));
}

TEST_CASE("a row's bits are its own, and the same again") {
  const int n = 5120, rows = 16;
  const std::vector<float> values = test_values(16, static_cast<size_t>(rows * n));
  const auto norms = [&](int first, int count) {
    return on_gpu([&](OnDevice& on) {
      const DevPtr<float> x = on.put(values), y = on.room<float>(static_cast<size_t>(count * n));
      on.device.rms(x + static_cast<size_t>(first * n), on.put(test_values(2, n)), count, n, 1e-6f,
                    y);
      return on.get(y, static_cast<size_t>(count * n));
    });
  };
  const std::vector<float> all = norms(0, rows);
  CHECK(equal_bits(all, norms(0, rows)));
  for (const int first : {0, 7, 15}) {
    const std::vector<float> one = norms(first, 1);
    CHECK(std::memcmp(one.data(), &all[static_cast<size_t>(first * n)], n * sizeof(float)) == 0);
  }
}

}  // namespace
}  // namespace rota
