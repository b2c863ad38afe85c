// The integer kernels: every variant gives the same bits, their error is that of the activations'
// rounding, and a row's bits are its own.
#include "device/host/matvec_int.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu_features.h"
#include "base/rng.h"
#include "device/host/matvec_int_kernels.h"

namespace rota {
namespace {

constexpr Format kIntFormats[] = {Format::kQ8_0,   Format::kQ2_0, Format::kQ3_K,
                                  Format::kPTQ1_0, Format::kQ2_K, Format::kMXFP4};

// True where byte `at` of a block is a scale: those stay as encoded, so that they are finite.
bool is_scale(Format f, size_t at) {
  const size_t size = format_info(f).block_bytes;
  if (f == Format::kMXFP4) return at == 0;
  if (f == Format::kQ2_K) return at >= size - 4;
  return f == Format::kQ3_K || f == Format::kPTQ1_0 ? at >= size - 2 : at < 2;
}

float uniform(uint64_t key, size_t i) {
  return static_cast<float>(2 * unit_double(splitmix64_mix(key + (i + 1) * kGoldenGamma)) - 1);
}

struct Problem {
  Format format;
  size_t out, k, rows;
  std::vector<uint8_t> w;
  std::vector<float> x;

  Problem(Format f, size_t out_, size_t k_, size_t rows_)
      : format(f), out(out_), k(k_), rows(rows_) {
    const size_t bytes = row_bytes(f, k).value();
    w.resize(out * bytes);
    std::vector<float> row(k);
    for (size_t o = 0; o < out; ++o) {
      for (size_t i = 0; i < k; ++i) row[i] = uniform(7, o * k + i);
      encode_row(f, row.data(), w.data() + o * bytes, k);
    }
    for (size_t i = 0; i < rows * k; ++i) x.push_back(uniform(11, i));
  }
  // Codes that no encoder writes; the half-precision scales stay as they are, so that they are
  // finite.
  void scramble() {
    const size_t size = format_info(format).block_bytes;
    for (size_t i = 0; i < w.size(); ++i) {
      if (!is_scale(format, i % size)) w[i] = static_cast<uint8_t>(splitmix64_mix(i));
    }
  }
  std::vector<float> run(MatvecIntFn fn, size_t begin = 0, size_t end = SIZE_MAX) const {
    const RowLayout layout = row_layout(format);
    const size_t bytes = quantised_row_bytes(layout, k);
    AlignedBuffer quantised = AlignedBuffer::allocate(rows * bytes).value();
    std::memset(quantised.data(), 0xff, rows * bytes);  // NaNs where nothing is written
    std::vector<float> y(rows * out, -1.f);
    std::vector<const void*> in;
    std::vector<float*> to;
    for (size_t r = 0; r < rows; ++r) {
      quantise_row(layout, x.data() + r * k, k, 0, k, quantised.data() + r * bytes);
      in.push_back(quantised.data() + r * bytes);
      to.push_back(y.data() + r * out);
    }
    fn(format, w.data(), begin, std::min(end, out), k, in.data(), static_cast<int>(rows),
       to.data());
    return y;
  }
  std::vector<float> weights(size_t o) const {
    std::vector<float> row(k);
    decode_row(format, w.data() + o * row_bytes(format, k).value(), row.data(), k);
    return row;
  }
};

std::vector<MatvecIntFn> variants() {
  std::vector<MatvecIntFn> out = {matvec_int_portable};
  if (cpu_features().avx2) out.push_back(matvec_int_avx2);
  if (cpu_features().avx512) out.push_back(matvec_int_avx512);
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Lengths with a last chunk that is not whole, where the format has such.
std::vector<size_t> lengths(Format f) {
  if (f == Format::kQ3_K || f == Format::kQ2_K) return {256, 2304};
  const size_t block = format_info(f).block_weights;
  return {block, 256, 256 + block, 2304, 5120 - block};
}

TEST_CASE("every variant gives the portable one's bits") {
  for (const Format f : kIntFormats) {
    CAPTURE(format_info(f).name);
    for (const size_t k : lengths(f)) {
      for (const size_t rows : {1u, 2u, 5u, 17u}) {
        CAPTURE(k);
        CAPTURE(rows);
        Problem p(f, 5, k, rows);
        for (int bits = 0; bits < 2; ++bits, p.scramble()) {
          const std::vector<float> expected = p.run(matvec_int_portable);
          for (const MatvecIntFn fn : variants()) REQUIRE(same_bits(p.run(fn), expected));
        }
      }
    }
  }
}

// An activation moves by half a step, amax / 32512 / 2, and by the rounding of its factor and scale
// (3 * 2^-24 of itself). A lane adds up to four products a chunk (t, acc and their rounded sums: at
// most 10 roundings a chunk), then comes a tree of four; each rounds by 2^-24 of a partial sum that
// is bounded by the sum of magnitudes.
void check_against_double(const Problem& p, const std::vector<float>& y) {
  const size_t chunks = (p.k + kIntChunk - 1) / kIntChunk;
  for (size_t o = 0; o < p.out; ++o) {
    const std::vector<float> w = p.weights(o);
    for (size_t r = 0; r < p.rows; ++r) {
      double sum = 0, magnitude = 0, moved = 0;
      for (size_t c = 0; c < chunks; ++c) {
        double amax = 0, all = 0;
        for (size_t i = c * kIntChunk; i < std::min(p.k, (c + 1) * kIntChunk); ++i) {
          const double x = p.x[r * p.k + i];
          sum += w[i] * x;
          magnitude += std::fabs(w[i] * x);
          amax = std::max(amax, std::fabs(x));
          all += std::fabs(w[i]);
        }
        moved += amax / kIntLargest / 2 * all;
      }
      const double steps = 10 * static_cast<double>(chunks) + 4 + 3;
      // Offsets are taken from sums of codes that count from 0: twice the magnitude may pass by.
      const double bound = moved + steps * 0x1p-24 * 2 * (magnitude + moved);
      REQUIRE(std::fabs(y[r * p.out + o] - sum) <= bound);
    }
  }
}

TEST_CASE("the error is the rounding of the activations and of the chain, no more") {
  for (const Format f : kIntFormats) {
    for (const size_t k : lengths(f)) {
      CAPTURE(format_info(f).name);
      CAPTURE(k);
      Problem p(f, 5, k, 3);
      for (size_t i = 0; i < p.x.size(); i += 97) p.x[i] *= 50;  // outliers
      check_against_double(p, p.run(matvec_int_portable));
    }
  }
}

TEST_CASE("one-hot activations read every weight back") {
  for (const Format f : kIntFormats) {
    CAPTURE(format_info(f).name);
    Problem p(f, 2, 512, 16);
    p.scramble();
    for (size_t first = 0; first < p.k; first += p.rows) {
      std::fill(p.x.begin(), p.x.end(), 0.f);
      for (size_t r = 0; r < p.rows; ++r) p.x[r * p.k + first + r] = 1.f;
      const std::vector<float> y = p.run(matvec_int_rows);
      for (size_t o = 0; o < p.out; ++o) {
        const std::vector<float> w = p.weights(o);
        // The scale, its product with the weight's and the sum each round once. Offsets put the
        // same scales into other lanes with the opposite sign: up to 4 of the largest weight.
        const float bound = 4 * 0x1p-24f * 32 * 7 *
                            (f == Format::kQ3_K ? std::fabs(w[first]) + 1.f : std::fabs(w[first]));
        for (size_t r = 0; r < p.rows; ++r) {
          REQUIRE(std::fabs(y[r * p.out + o] - w[first + r]) <= bound + 1e-6f);
        }
      }
    }
  }
}

TEST_CASE("the scales that are no normal powers of two are MXFP4's") {
  for (const int e : {0, 1, 2, 3, 200, 255}) {
    CAPTURE(e);
    Problem p(Format::kMXFP4, 2, 512, 3);
    for (size_t i = 0; i < p.w.size(); i += 17) p.w[i] = static_cast<uint8_t>(e);
    const std::vector<float> expected = p.run(matvec_int_portable);
    CHECK(std::isnan(expected[0]) == (e == 255));
    for (const MatvecIntFn fn : variants()) {
      const std::vector<float> y = p.run(fn);
      for (size_t i = 0; i < y.size(); ++i) {
        if (e == 255) {
          CHECK(std::isnan(y[i]));
        } else {
          CHECK(y[i] == expected[i]);
        }
      }
    }
  }
}

TEST_CASE("sums of the largest codes and activations do not overflow") {
  for (const Format f : kIntFormats) {
    for (const int pattern : {0x00, 0x7f, 0x80, 0xff, 0xaa, 0x55}) {
      const auto byte = static_cast<uint8_t>(pattern);
      for (const float sign : {1.f, -1.f}) {
        Problem p(f, 3, 512, 2);
        const size_t size = format_info(f).block_bytes;
        for (size_t i = 0; i < p.w.size(); ++i) {
          if (!is_scale(f, i % size)) p.w[i] = byte;
        }
        for (size_t i = 0; i < p.x.size(); ++i) p.x[i] = i < p.k ? sign : sign * uniform(3, i);
        const std::vector<float> expected = p.run(matvec_int_portable);
        check_against_double(p, expected);
        for (const MatvecIntFn fn : variants()) REQUIRE(same_bits(p.run(fn), expected));
      }
    }
  }
}

TEST_CASE("a row's bits depend neither on the rows beside it nor on the split of outputs") {
  for (const Format f : kIntFormats) {
    CAPTURE(format_info(f).name);
    const Problem whole(f, 11, 512, 19);
    const std::vector<float> y = whole.run(matvec_int_rows);
    for (size_t rows = 1; rows <= 19; ++rows) {
      Problem part = whole;
      part.rows = rows;
      const std::vector<float> few = part.run(matvec_int_rows);
      REQUIRE(std::memcmp(few.data(), y.data(), few.size() * sizeof(float)) == 0);
    }
    for (const size_t rows : {1u, 3u}) {
      Problem part = whole;
      part.rows = rows;
      for (size_t begin = 0, width = 1; begin < part.out; begin += width, width = width % 4 + 1) {
        const std::vector<float> some = part.run(matvec_int_rows, begin, begin + width);
        for (size_t r = 0; r < rows; ++r) {
          for (size_t o = 0; o < part.out; ++o) {
            const bool inside = o >= begin && o < begin + width;
            REQUIRE(some[r * part.out + o] == (inside ? y[r * part.out + o] : -1.f));
          }
        }
      }
    }
  }
}

TEST_CASE("a NaN or an infinity reaches every output, the smallest values none") {
  for (const Format f : kIntFormats) {
    const Problem p(f, 3, 1024, 1);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      Problem broken = p;
      broken.x[700] = bad;
      for (const MatvecIntFn fn : variants()) {
        for (const float v : broken.run(fn)) CHECK(!std::isfinite(v));
      }
    }
    Problem zero = p;
    for (float& v : zero.x) v = 1e-31f;
    for (const float v : zero.run(matvec_int_rows)) CHECK(v == 0.f);
  }
}

}  // namespace
}  // namespace rota
