#include <doctest/doctest.h>

#include "device/cuda/both_devices.h"
#include "formats/random_blocks.h"

namespace rota {
namespace {

struct Problem {
  Format format;
  int out, in, groups = 1;

  size_t bytes() const {
    return static_cast<size_t>(out) * row_bytes(format, static_cast<uint64_t>(in)).value();
  }
  std::vector<uint8_t> weights() const {
    std::vector<uint8_t> w(bytes());
    random_blocks(format, 7 + static_cast<uint64_t>(in), w.data(), w.size());
    return w;
  }
  size_t x_floats(int rows) const { return static_cast<size_t>(rows * groups * in); }
  std::vector<float> x(int rows) const { return test_values(8, x_floats(rows)); }
};

// The answer to rows [first, first + rows) of `all` rows of x.
std::vector<float> answer(OnDevice& on, const Problem& p, bool laid_out, int all, int first,
                          int rows) {
  Matrix w = on.matrix(p.format, p.out, p.in, p.weights());
  if (laid_out) on.device.lay_out(w);
  const DevPtr<float> x = on.put(p.x(all)), y = on.room<float>(static_cast<size_t>(rows * p.out));
  const DevPtr<float> from = x + p.x_floats(first);
  if (p.groups == 1) {
    on.device.linear(w, from, rows, y);
  } else {
    on.device.grouped_linear(w, p.groups, from, rows, y);
  }
  return on.get(y, static_cast<size_t>(rows * p.out));
}

// Each of the two sums differs from the exact one by at most its longest chain of roundings, times
// the sum of what is added: 8 lanes and 3 steps on the host, 32 lanes, 5 steps and 8 slices on the
// GPU.
std::vector<double> tolerances(const Problem& p, int rows) {
  const size_t in = static_cast<size_t>(p.in), out = static_cast<size_t>(p.out);
  const std::vector<uint8_t> bytes = p.weights();
  const std::vector<float> x = p.x(rows);
  std::vector<float> w(out * in);
  decode_row(p.format, bytes.data(), w.data(), w.size());
  const double chains = p.in / 8.0 + 4 + p.in / 32.0 + 13;
  std::vector<double> all;
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    for (size_t o = 0; o < out; ++o) {
      const size_t groups = static_cast<size_t>(p.groups), group = o / (out / groups);
      const float* row = &x[(r * groups + group) * in];
      double sum = 0;
      for (size_t i = 0; i < in; ++i) sum += std::fabs(static_cast<double>(w[o * in + i]) * row[i]);
      all.push_back(sum * chains * kRounding);
    }
  }
  return all;
}

std::string name_of(const Problem& p, int rows, bool laid_out) {
  return std::string(laid_out ? "laid out " : "") + format_info(p.format).name + " " +
         std::to_string(p.out) + "x" + std::to_string(p.in) +
         (p.groups > 1 ? "/" + std::to_string(p.groups) : "") + ", rows " + std::to_string(rows);
}

void check_problem(const Problem& p, bool laid_out) {
  for (const int rows : {1, 2, 3, 6, 16, 37}) {
    const auto run = [&](OnDevice& on) { return answer(on, p, laid_out, rows, 0, rows); };
    check_within(name_of(p, rows, laid_out), on_gpu(run), on_host(run), tolerances(p, rows));
  }
}

TEST_CASE("linear: every format in rows of its block, the host's answers") {
  for (const FormatInfo& info : all_formats()) {
    if (!is_weight_format(info.format)) continue;
    check_problem({info.format, 13, 512}, false);
    check_problem({info.format, 3, 1280}, false);
  }
}

TEST_CASE("linear: odd shapes of unblocked formats") {
  for (const Format format : {Format::kF32, Format::kF16, Format::kBF16}) {
    for (const auto& [out, in] : {std::pair{1, 80}, {24, 20480}, {5, 96}, {9, 30}, {333, 516}}) {
      check_problem({format, out, in}, false);
    }
  }
}

TEST_CASE("linear: laid-out matrices, one to many slices of a row") {
  for (const Format format : {Format::kQ8_0, Format::kMXFP8}) {
    for (const auto& [out, in] :
         {std::pair{1, 256}, {7, 512}, {130, 1280}, {64, 2304}, {17, 5120}, {4200, 768}}) {
      check_problem({format, out, in}, true);
    }
    check_problem({format, 5, 96}, true);  // no whole groups: stays as it is
  }
}

TEST_CASE("grouped linear: a group's outputs read its own inputs") {
  check_problem({Format::kF32, 36, 64, 3}, false);
  check_problem({Format::kF32, 15, 64, 3}, false);
  check_problem({Format::kQ8_0, 128, 512, 8}, true);
  check_problem({Format::kQ8_0, 128, 512, 8}, false);
}

TEST_CASE("linear: a row's bits are its own, whatever rows are beside it, and the same again") {
  for (const Problem& p : {Problem{Format::kQ8_0, 70, 5120}, Problem{Format::kMXFP8, 70, 2304},
                           Problem{Format::kBF16, 300, 5120}, Problem{Format::kF16, 9, 640},
                           Problem{Format::kF32, 24, 20480}, Problem{Format::kQ2_0, 9, 640},
                           Problem{Format::kQ8_0, 128, 512, 8}}) {
    CAPTURE(name_of(p, 16, true));
    const auto rows_of = [&](int first, int rows) {
      return on_gpu([&](OnDevice& on) { return answer(on, p, true, 40, first, rows); });
    };
    const std::vector<float> all = rows_of(0, 40);
    REQUIRE(equal_bits(all, rows_of(0, 40)));
    const size_t out = static_cast<size_t>(p.out);
    for (const int rows : {1, 2, 3, 4, 5, 7, 8, 9, 16}) {
      for (const int first : {0, 1, 15, 23}) {
        CAPTURE(rows);
        CAPTURE(first);
        const std::vector<float> part = rows_of(first, rows);
        REQUIRE(std::memcmp(part.data(), &all[static_cast<size_t>(first) * out],
                            part.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("gather: rows of any format, bit for bit, laid out or not, more than fit one launch") {
  for (const FormatInfo& info : all_formats()) {
    if (!is_weight_format(info.format)) continue;
    CAPTURE(info.name);
    const Problem p{info.format, 40, 512};
    std::vector<int> ids;
    for (int i = 0; i < 600; ++i) ids.push_back(i * 7 % 40);
    for (const bool laid_out : {false, true}) {
      const auto run = [&](OnDevice& on) {
        Matrix w = on.matrix(p.format, p.out, p.in, p.weights());
        if (laid_out) on.device.lay_out(w);
        const DevPtr<float> y = on.room<float>(600 * 512);
        on.device.gather(w, ids.data(), 600, y);
        return on.get(y, 600 * 512);
      };
      CHECK(equal_bits(on_gpu(run), on_host(run)));
    }
  }
}

}  // namespace
}  // namespace rota
