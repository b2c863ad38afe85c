// The steps that the GPU does at once, against its own operations one by one.
#include <doctest/doctest.h>

#include <initializer_list>
#include <tuple>
#include <utility>

#include "device/cuda/both_devices.h"
#include "formats/random_blocks.h"

namespace rota {
namespace {

std::vector<float> frequencies(int pairs) {
  std::vector<float> freq;
  for (int i = 0; i < pairs; ++i) {
    freq.push_back(static_cast<float>(std::pow(10000.0, -1.0 * i / pairs)));
  }
  return freq;
}

size_t area(int rows, int columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns);
}

// The values of several, one after the other.
std::vector<float> together(OnDevice& on,
                            std::initializer_list<std::pair<DevPtr<float>, size_t>> parts) {
  std::vector<float> all;
  for (const auto& [at, count] : parts) {
    const std::vector<float> more = on.get(at, count);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// `run` with whether the operations are to go one by one.
template <typename Run>
void check_same_bits(const Run& run) {
  const auto once = on_gpu([&](OnDevice& on) { return run(on, false); });
  CHECK(equal_bits(once, on_gpu([&](OnDevice& on) { return run(on, true); })));
}

TEST_CASE("two products at once: each as if alone, whatever shapes and formats they have") {
  struct Half {
    Format format;
    int out;
  };
  constexpr int kIn = 1280, kRows = 21;
  for (const auto& [first, second] :
       {std::pair{Half{Format::kQ8_0, 1280}, Half{Format::kQ8_0, 512}},
        {Half{Format::kQ8_0, 7}, Half{Format::kQ8_0, 2304}},
        {Half{Format::kMXFP8, 100}, Half{Format::kMXFP8, 100}},
        {Half{Format::kMXFP8, 100}, Half{Format::kQ8_0, 100}},
        {Half{Format::kBF16, 30}, Half{Format::kBF16, 40}}}) {
    for (const int rows : {1, 6, 16, kRows}) {
      check_same_bits([&, a = first, b = second](OnDevice& on, bool apart) {
        const auto matrix = [&](const Half& half, uint64_t seed) {
          std::vector<uint8_t> bytes(area(half.out, 1) * row_bytes(half.format, kIn).value());
          random_blocks(half.format, seed, bytes.data(), bytes.size());
          Matrix w = on.matrix(half.format, half.out, kIn, bytes);
          on.device.lay_out(w);
          return w;
        };
        const Matrix one = matrix(a, 1), other = matrix(b, 2);
        const DevPtr<float> x = on.put(test_values(3, area(kRows, kIn))),
                            y = on.room<float>(area(rows, a.out)),
                            z = on.room<float>(area(rows, b.out));
        if (apart) {
          on.device.Device::linear_pair(one, other, x, rows, y, z);
        } else {
          on.device.linear_pair(one, other, x, rows, y, z);
        }
        return together(on, {{y, area(rows, a.out)}, {z, area(rows, b.out)}});
      });
    }
  }
}

struct Shape {
  int mult, dim, rows;
};

// x, pre, post and comb after a sublayer's entry; rows from `first` on.
std::vector<float> enter(OnDevice& on, const Shape& s, int first, int rows, bool apart) {
  const int n = s.mult, width = n * (n + 2);
  HcStream stream;
  stream.params.mult = n, stream.params.rms_eps = 1e-6f, stream.params.hc_eps = 1e-6f;
  stream.dim = s.dim;
  stream.h = on.put(test_values(1, area(s.rows, n * s.dim), 2)) + area(first, n * s.dim);
  stream.pre = on.room<float>(area(rows, n)), stream.post = on.room<float>(area(rows, n));
  stream.comb = on.room<float>(area(rows, n * n));
  std::vector<uint8_t> bytes(area(width, n * s.dim) * sizeof(float));
  // Of a magnitude at which the mix is 8 at most, for the scales make exponents of it.
  const std::vector<float> values = test_values(2, area(width, n * s.dim), 4.0 / (n * s.dim));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const Matrix fn = on.matrix(Format::kF32, width, n * s.dim, bytes);
  const HcMix mix{&fn, on.put(test_values(3, area(1, width))),
                  on.put(std::vector<float>{.7f, 1.1f, .9f}), on.room<float>(area(rows, width))};
  ScratchSizes sizes;
  sizes.index_heads = 1, sizes.index_head_dim = 32;
  sizes.stream_rows = s.rows, sizes.stream_dim = s.dim;
  REQUIRE(on.device.reserve_scratch(sizes).ok());
  const DevPtr<float> collapse = on.put(test_values(4, area(s.rows, n))) + area(first, n),
                      norm = on.put(test_values(5, area(1, s.dim))),
                      x = on.room<float>(area(rows, s.dim));
  if (apart) {
    on.device.Device::hc_enter(stream, mix, collapse, norm, rows, x);
  } else {
    on.device.hc_enter(stream, mix, collapse, norm, rows, x);
  }
  return together(on, {{x, area(rows, s.dim)},
                       {stream.pre, area(rows, n)},
                       {stream.post, area(rows, n)},
                       {stream.comb, area(rows, n * n)}});
}

TEST_CASE("a sublayer's entry: what its operations give, within another order of their sums") {
  for (const Shape& s : {Shape{4, 5120, 3},
                         Shape{1, 96, 2},
                         Shape{3, 64, 4},
                         Shape{8, 320, 2},
                         Shape{2, 30, 2},
                         Shape{2, 12288, 1},
                         {4, 128, 17},
                         {4, 8192, 9},
                         {4, 16384, 1}}) {
    // Two sums of squares, which scale x and the exponents, and the mix itself, each a chain of at
    // most a lane's part of all terms; exponents are at most 8; balancing as in the coefficients'
    // own test.
    const double norm = s.mult * s.dim / 32.0 + 40;
    check_near("entry of " + std::to_string(s.mult) + " x " + std::to_string(s.dim),
               on_gpu([&](OnDevice& on) { return enter(on, s, 0, s.rows, false); }),
               on_gpu([&](OnDevice& on) { return enter(on, s, 0, s.rows, true); }), 4,
               16 * norm + 40 * (s.mult + 2));
  }
}

TEST_CASE("a sublayer's entry: a row's bits are its own, and the same again") {
  const Shape s{4, 5120, 16};
  const auto rows_of = [&](int first, int rows) {
    return on_gpu([&](OnDevice& on) { return enter(on, s, first, rows, false); });
  };
  const std::vector<float> all = rows_of(0, 16);
  CHECK(equal_bits(all, rows_of(0, 16)));
  for (const int row : {0, 9, 15}) {
    const std::vector<float> one = rows_of(row, 1);
    const float* rest = one.data();
    size_t at = 0;
    for (const int width : {s.dim, 4, 4, 16}) {
      CHECK(std::memcmp(rest, &all[at + area(row, width)], area(1, width) * sizeof(float)) == 0);
      rest += width;
      at += area(16, width);
    }
  }
}

TEST_CASE("a sublayer's end: its operations' bits, with something to add and without") {
  for (const Shape& s : {Shape{4, 5120, 6}, Shape{1, 96, 2}, Shape{8, 321, 3}}) {
    for (const bool adds : {false, true}) {
      check_same_bits([&](OnDevice& on, bool apart) {
        HcStream stream;
        stream.params.mult = s.mult;
        stream.dim = s.dim;
        stream.h = on.put(test_values(1, area(s.rows, s.mult * s.dim)));
        stream.post = on.put(test_values(2, area(s.rows, s.mult)));
        stream.comb = on.put(test_values(3, area(s.rows, s.mult * s.mult)));
        const DevPtr<float> y = on.put(test_values(4, area(s.rows, s.dim)));
        const DevPtr<float> more =
            adds ? on.put(test_values(5, area(s.rows, s.dim))) : DevPtr<float>();
        if (apart) {
          on.device.Device::hc_leave(stream, y, more, s.rows);
        } else {
          on.device.hc_leave(stream, y, more, s.rows);
        }
        return on.get(stream.h, area(s.rows, s.mult * s.dim));
      });
    }
  }
}

TEST_CASE("norm and rotation: their bits") {
  for (const auto& [dim, pairs] : {std::pair{512, 32}, {128, 64}, {96, 16}, {34, 1}}) {
    for (const int step : {1, 4}) {
      check_same_bits([&, dim = dim, pairs = pairs](OnDevice& on, bool apart) {
        const DevPtr<float> x = on.put(test_values(1, area(5, dim), 3)),
                            w = on.put(test_values(2, area(1, dim)));
        const Rotation rotation{on.put(frequencies(pairs)), pairs};
        if (apart) {
          on.device.Device::rms_rope(x, w, 5, dim, 1e-6f, rotation, 70001, step);
        } else {
          on.device.rms_rope(x, w, 5, dim, 1e-6f, rotation, 70001, step);
        }
        return on.get(x, area(5, dim));
      });
    }
  }
}

TEST_CASE("attention of turned queries: its operations' bits, more rows than one launch has") {
  for (const bool causal : {false, true}) {
    for (const auto& [heads, dim, pairs] :
         {std::tuple{64, 512, 32}, {3, 96, 16}, {5, 64, 32}, {2, 64, 3}}) {
      constexpr int kRows = 19, kWindow = 12, kSlots = 40;
      check_same_bits([&, heads = heads, dim = dim, pairs = pairs](OnDevice& on, bool apart) {
        ScratchSizes sizes;
        sizes.heads = heads, sizes.head_dim = dim, sizes.keys = kWindow;
        sizes.index_heads = 1, sizes.index_head_dim = 32;
        REQUIRE(on.device.reserve_scratch(sizes).ok());
        KeyRows ring{KeyFormat::kF32, dim, {}};
        ring.data = on.room<uint8_t>(kSlots * ring.row_bytes());
        on.device.store_keys(on.put(test_values(1, area(kSlots, dim))), kSlots, 0, ring, kSlots);
        AttentionArgs args;
        args.rows = kRows, args.heads = heads, args.head_dim = dim;
        args.first_position = 30, args.window = kWindow, args.causal = causal;
        args.scale = 1.0f / std::sqrt(static_cast<float>(dim));
        const DevPtr<float> q = on.put(test_values(2, area(kRows, heads * dim), 4));
        args.q = q;
        args.sinks = on.put(test_values(3, area(1, heads), 2));
        args.ring = ring, args.ring_slots = kSlots;
        args.out = on.room<float>(area(kRows, heads * dim));
        const Rotation rotation{on.put(frequencies(pairs)), pairs};
        if (apart) {
          on.device.Device::rotated_attention(args, q, rotation);
        } else {
          on.device.rotated_attention(args, q, rotation);
        }
        return on.get(args.out, area(kRows, heads * dim));
      });
    }
  }
}

TEST_CASE("the largest of a row, and rows of a table that the GPU names itself") {
  std::vector<float> x = test_values(1, 3 * 1030, 5);
  x[7] = x[1029] = 9;
  x[1030] = NAN, x[2000] = 9, x[2001] = 9;
  std::fill(x.begin() + 2060, x.end(), -INFINITY);
  for (const int n : {1030, 1, 515}) {
    const int rows = 3 * 1030 / n;
    const auto run = [&](OnDevice& on) {
      const DevPtr<int> ids = on.room<int>(area(rows, 1));
      on.device.largest(on.put(x), rows, n, ids);
      return on.get(ids, area(rows, 1));
    };
    CHECK(on_gpu(run) == on_host(run));
  }
  const auto rows_of = [&](OnDevice& on) {
    std::vector<uint8_t> bytes(3 * row_bytes(Format::kQ8_0, 512).value());
    random_blocks(Format::kQ8_0, 1, bytes.data(), bytes.size());
    const Matrix table = on.matrix(Format::kQ8_0, 3, 512, bytes);
    const DevPtr<float> y = on.room<float>(4 * 512);
    on.device.gather_listed(table, on.put(std::vector<int>{2, 0, 1, 2}), 4, y);
    return on.get(y, 4 * 512);
  };
  CHECK(equal_bits(on_gpu(rows_of), on_host(rows_of)));
}

}  // namespace
}  // namespace rota
