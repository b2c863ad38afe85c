// The matrix kernels: bounds from type and length, exact decoding, one row's bits for any rows and
// splits.
#include "device/host/matvec.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/cpu_features.h"
#include "base/rng.h"
#include "device/host/matvec_kernels.h"

namespace rota {
namespace {

constexpr Format kFormats[] = {Format::kF32,   Format::kF16,  Format::kBF16,   Format::kQ8_0,
                               Format::kQ2_0,  Format::kQ3_K, Format::kPTQ1_0, Format::kQ2_K,
                               Format::kMXFP4, Format::kMXFP8};

float uniform(uint64_t key, size_t i) {
  return static_cast<float>(2 * unit_double(splitmix64_mix(key + (i + 1) * kGoldenGamma)) - 1);
}

struct Problem {
  Format format;
  size_t out, k;
  int rows;
  std::vector<uint8_t> w;
  std::vector<float> x;

  Problem(Format f, size_t out_, size_t k_, int rows_) : format(f), out(out_), k(k_), rows(rows_) {
    const size_t bytes = row_bytes(f, k).value();
    w.resize(out * bytes);
    std::vector<float> row(k);
    for (size_t o = 0; o < out; ++o) {
      for (size_t i = 0; i < k; ++i) row[i] = uniform(7, o * k + i);
      encode_row(f, row.data(), w.data() + o * bytes, k);
    }
    x.resize(static_cast<size_t>(rows) * k);
    for (size_t i = 0; i < x.size(); ++i) x[i] = uniform(11, i);
  }
  std::vector<float> run(MatvecFn fn) const {
    std::vector<float> y(static_cast<size_t>(rows) * out, NAN);
    std::vector<const float*> in;
    std::vector<float*> to;
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
      in.push_back(x.data() + r * k);
      to.push_back(y.data() + r * out);
    }
    fn(format, w.data(), 0, out, k, in.data(), rows, to.data());
    return y;
  }
};

// A chain of n/8 products a lane plus a tree of 3: every step rounds by at most half an ulp of a
// partial sum that is bounded by the sum of magnitudes, so |error| <= (n/8 * 2 + 3) * 2^-24 * sum|w
// x|.
void check_against_double(const Problem& p, const std::vector<float>& y) {
  std::vector<float> w(p.k);
  const size_t bytes = row_bytes(p.format, p.k).value();
  for (size_t o = 0; o < p.out; ++o) {
    decode_row(p.format, p.w.data() + o * bytes, w.data(), p.k);
    for (size_t r = 0; r < static_cast<size_t>(p.rows); ++r) {
      double sum = 0, magnitude = 0;
      for (size_t i = 0; i < p.k; ++i) {
        sum += static_cast<double>(w[i]) * p.x[r * p.k + i];
        magnitude += std::fabs(static_cast<double>(w[i]) * p.x[r * p.k + i]);
      }
      const double bound = (static_cast<double>(p.k) / 4 + 3) * 0x1p-24 * magnitude;
      REQUIRE(std::fabs(y[r * p.out + o] - sum) <= bound);
    }
  }
}

TEST_CASE("both variants of every format agree with double precision within the chain's bound") {
  for (const Format f : kFormats) {
    CAPTURE(format_info(f).name);
    const Problem p(f, 7, 512, 5);
    check_against_double(p, p.run(matvec_portable));
    if (cpu_features().avx2) check_against_double(p, p.run(matvec_avx2));
  }
}

TEST_CASE("decoding inside the AVX2 kernel is exact: one-hot activations read every weight back") {
  if (!cpu_features().avx2) return;
  for (const Format f : kFormats) {
    CAPTURE(format_info(f).name);
    const size_t k = 256;
    Problem p(f, 3, k, 8);
    // Arbitrary bits too, not only what the encoder writes. The scales stay as encoded, so that
    // they are finite.
    const FormatInfo& info = format_info(f);
    if (f == Format::kQ8_0 || f == Format::kQ2_0) {
      for (size_t i = 0; i < p.w.size(); ++i) {
        if (i % info.block_bytes >= 2) p.w[i] = static_cast<uint8_t>(splitmix64_mix(i));
      }
    } else if (f == Format::kQ2_K || f == Format::kMXFP4) {
      const size_t begin = f == Format::kQ2_K ? 0 : 1, end = f == Format::kQ2_K ? 80 : 17;
      for (size_t i = 0; i < p.w.size(); ++i) {
        const size_t at = i % info.block_bytes;
        if (at >= begin && at < end) p.w[i] = static_cast<uint8_t>(splitmix64_mix(i));
      }
    } else if (f == Format::kQ3_K || f == Format::kPTQ1_0) {
      for (size_t i = 0; i < p.w.size(); ++i) {
        if (i % info.block_bytes < info.block_bytes - 2)
          p.w[i] = static_cast<uint8_t>(splitmix64_mix(i));
      }
    }
    std::vector<float> w(k);
    const size_t bytes = row_bytes(f, k).value();
    for (size_t first = 0; first < k; first += 8) {
      std::fill(p.x.begin(), p.x.end(), 0.f);
      for (size_t r = 0; r < 8; ++r) p.x[r * k + first + r] = 1.f;
      const std::vector<float> y = p.run(matvec_avx2);
      for (size_t o = 0; o < p.out; ++o) {
        decode_row(f, p.w.data() + o * bytes, w.data(), k);
        for (size_t r = 0; r < 8; ++r) REQUIRE(y[r * p.out + o] == w[first + r]);
      }
    }
  }
}

TEST_CASE("a row's bits do not depend on how many rows stand beside it") {
  for (const Format f : kFormats) {
    CAPTURE(format_info(f).name);
    const Problem whole(f, 9, 256, 19);
    const std::vector<float> y = whole.run(matvec_rows);
    for (int rows = 1; rows <= 19; ++rows) {
      Problem part = whole;
      part.rows = rows;
      const std::vector<float> few = part.run(matvec_rows);
      REQUIRE(std::memcmp(few.data(), y.data(), few.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("an output's bits do not depend on how the outputs are split") {
  for (const Format f : kFormats) {
    CAPTURE(format_info(f).name);
    const Problem p(f, 23, 256, 2);
    const std::vector<float> y = p.run(matvec_rows);
    std::vector<float> split(y.size(), NAN);
    for (size_t begin = 0, width = 1; begin < p.out; begin += width, width = width % 5 + 1) {
      matvec_rows(f, p.w.data(), begin, std::min(p.out, begin + width), p.k, p.x.data(), p.k,
                  p.rows, split.data(), p.out);
    }
    CHECK(std::memcmp(split.data(), y.data(), y.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("float formats take rows that are no multiple of eight, and read nothing past them") {
  for (const Format f : {Format::kF32, Format::kF16, Format::kBF16}) {
    for (const size_t k : {1u, 5u, 8u, 13u, 263u}) {
      const Problem p(f, 3, k, 3);
      check_against_double(p, p.run(matvec_portable));
      if (cpu_features().avx2) check_against_double(p, p.run(matvec_avx2));
    }
  }
}

TEST_CASE("the expert's middle clamps the gate above only and the up projection on both sides") {
  const float gate[] = {0.5f, 3.f, -3.f, 0.f}, up[] = {0.25f, -9.f, 9.f, 1.f};
  float out[4];
  expert_swiglu(gate, up, 4, 0.6f, 2.f, out);
  const auto silu = [](double a) { return a / (1 + std::exp(-a)); };
  CHECK(out[0] == doctest::Approx(2 * silu(0.5) * 0.25));
  CHECK(out[1] == doctest::Approx(2 * silu(0.6f) * -0.6f));
  CHECK(out[2] == doctest::Approx(2 * silu(-3.0) * 0.6f));
  CHECK(out[3] == 0.f);
}

}  // namespace
}  // namespace rota
