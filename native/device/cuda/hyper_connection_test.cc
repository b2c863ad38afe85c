#include <doctest/doctest.h>

#include "device/cuda/both_devices.h"

namespace rota {
namespace {

struct Shape {
  int mult, dim, rows;
  size_t stream() const { return static_cast<size_t>(rows * mult * dim); }
};

// pre, post and comb of all rows, one after the other.
std::vector<float> coefficients(OnDevice& on, const Shape& s, int first, int rows) {
  const int n = s.mult, width = n * (n + 2);
  HcParams params;
  params.mult = n, params.sinkhorn_iters = 20, params.rms_eps = 1e-6f, params.hc_eps = 1e-6f;
  const DevPtr<float> h = on.put(test_values(1, s.stream(), 2)),
                      mix = on.put(test_values(2, static_cast<size_t>(s.rows * width), 3));
  const size_t pairs = static_cast<size_t>(rows * n), squares = pairs * static_cast<size_t>(n);
  const DevPtr<float> pre = on.room<float>(pairs), post = on.room<float>(pairs),
                      comb = on.room<float>(squares);
  on.device.hc_coefficients(params, h + static_cast<size_t>(first * n * s.dim), s.dim,
                            mix + static_cast<size_t>(first * width),
                            on.put(test_values(3, static_cast<size_t>(width))),
                            on.put(std::vector<float>{.7f, 1.1f, .9f}), rows, pre, post, comb);
  std::vector<float> all = on.get(pre, pairs);
  for (const auto& [at, count] : {std::pair{post, pairs}, {comb, squares}}) {
    const std::vector<float> more = on.get(at, count);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST_CASE("hyper-connection coefficients: the host's answers") {
  for (const Shape& s : {Shape{4, 5120, 3}, Shape{1, 96, 2}, Shape{3, 64, 4}, Shape{8, 320, 2}}) {
    const auto run = [&](OnDevice& on) { return coefficients(on, s, 0, s.rows); };
    // The norm's sum of squares is a chain of n / 8 roundings on the host. It scales exponents of
    // at most 8, so that much of it enters every entry; balancing divides each by sums of itself 40
    // times, by which a relative error does not grow, and adds a few roundings each time.
    const double norm = s.mult * s.dim / 8.0 / 2;
    check_near("hc coefficients of " + std::to_string(s.mult), on_gpu(run), on_host(run), 2,
               8 * norm + 40 * (s.mult + 2));
  }
}

TEST_CASE("hyper-connection coefficients: a row's bits are its own, and the same again") {
  const Shape s{4, 5120, 16};
  const size_t n = 4, squares = 16;
  const auto rows_of = [&](int first, int rows) {
    return on_gpu([&](OnDevice& on) { return coefficients(on, s, first, rows); });
  };
  const std::vector<float> all = rows_of(0, 16);
  CHECK(equal_bits(all, rows_of(0, 16)));
  for (const size_t row : {size_t{0}, size_t{9}, size_t{15}}) {
    const std::vector<float> one = rows_of(static_cast<int>(row), 1);
    CHECK(std::equal(one.begin(), one.begin() + 4, &all[row * n]));
    CHECK(std::equal(one.begin() + 4, one.begin() + 8, &all[16 * n + row * n]));
    CHECK(std::equal(one.begin() + 8, one.end(), &all[2 * 16 * n + row * squares]));
  }
}

TEST_CASE("collapse, expand, mean and copy: the host's answers") {
  for (const Shape& s : {Shape{4, 5120, 3}, Shape{1, 96, 2}, Shape{3, 70, 300}, Shape{8, 320, 2}}) {
    const size_t row = static_cast<size_t>(s.dim), rows = static_cast<size_t>(s.rows),
                 n = static_cast<size_t>(s.mult);
    const std::string of = " of " + std::to_string(s.mult);
    const auto collapse = [&](OnDevice& on) {
      const DevPtr<float> x = on.room<float>(rows * row);
      on.device.hc_collapse(on.put(test_values(4, s.stream())), on.put(test_values(5, rows * n)),
                            s.rows, s.mult, s.dim, x);
      return on.get(x, rows * row);
    };
    check_near("hc collapse" + of, on_gpu(collapse), on_host(collapse), s.mult, 2 * s.mult);
    const auto expand = [&](OnDevice& on) {
      const DevPtr<float> h = on.put(test_values(4, s.stream()));
      on.device.hc_expand(h, on.put(test_values(6, rows * row)), on.put(test_values(5, rows * n)),
                          on.put(test_values(7, rows * n * n)), s.rows, s.mult, s.dim);
      return on.get(h, s.stream());
    };
    check_near("hc expand" + of, on_gpu(expand), on_host(expand), s.mult + 1, 2 * s.mult + 2);
    const auto mean = [&](OnDevice& on) {
      const DevPtr<float> out = on.room<float>(rows * (row + 5));
      on.device.hc_mean(on.put(test_values(4, s.stream())), s.rows, s.mult, s.dim, out, s.dim + 5);
      return on.get(out, rows * (row + 5));
    };
    CHECK(equal_bits(on_gpu(mean), on_host(mean)));
    const auto copy = [&](OnDevice& on) {
      const DevPtr<float> h = on.room<float>(s.stream());
      on.device.hc_copy(on.put(test_values(8, rows * row)), s.rows, s.mult, s.dim, h);
      return on.get(h, s.stream());
    };
    CHECK(equal_bits(on_gpu(copy), on_host(copy)));
  }
}

}  // namespace
}  // namespace rota
