// The expert kernels against the plain formula in double, and their bits against every way of
// cutting the same work.
#include "device/cuda/expert_kernels.cuh"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "formats/block.h"
#include "formats/numbers.h"
#include "formats/random_blocks.h"

namespace rota {
namespace {

constexpr Format kFormats[] = {Format::kPTQ1_0, Format::kQ2_0, Format::kQ3_K, Format::kMXFP4,
                               Format::kQ8_0,   Format::kQ2_K, Format::kF16,  Format::kBF16,
                               Format::kMXFP8,  Format::kF32};

float uniform(uint64_t key) { return static_cast<float>(unit_double(splitmix64(key)) * 2 - 1); }

CudaStream& stream() {
  static auto opened = CudaStream::open(0);
  REQUIRE(opened.ok());
  return *opened.value();
}

// One expert's matrices on the host, its blob on the device.
struct Expert {
  CudaExpertJob job;
  int dim, inter;
  std::vector<uint8_t> blob;
  void* device = nullptr;

  Expert(Format gate, Format up, Format down, int dim_, int inter_, uint64_t seed)
      : dim(dim_), inter(inter_) {
    job.gate = gate, job.up = up, job.down = down;
    const auto rows = static_cast<size_t>(inter), width = static_cast<size_t>(dim);
    job.up_offset = row_bytes(gate, width).value() * rows;
    job.down_offset = job.up_offset + row_bytes(up, width).value() * rows;
    blob.resize(job.down_offset + row_bytes(down, rows).value() * width);
    random_blocks(gate, seed * 3, blob.data(), job.up_offset);
    random_blocks(up, seed * 3 + 1, blob.data() + job.up_offset, job.down_offset - job.up_offset);
    random_blocks(down, seed * 3 + 2, blob.data() + job.down_offset, blob.size() - job.down_offset);
    auto memory = stream().allocate(blob.size() + 16, "a blob");
    REQUIRE(memory.ok());
    device = memory.value();
    job.blob = static_cast<const uint8_t*>(device);
  }
  // Its bytes again, in the kernels' order.
  void reset(ExpertKernels& kernels) const {
    CUDA_CHECK(stream(), cudaMemcpyAsync(device, blob.data(), blob.size(), cudaMemcpyHostToDevice,
                                         stream().use()));
    kernels.lay_out(stream().use(), static_cast<uint8_t*>(device), job);
    REQUIRE(stream().wait().ok());
  }
  ~Expert() { stream().release(device); }
  Expert(Expert&& other) noexcept
      : job(other.job),
        dim(other.dim),
        inter(other.inter),
        blob(std::move(other.blob)),
        device(other.device) {
    other.device = nullptr;
  }

  // The formula's answer for a row, and the largest sum of magnitudes of a term behind it: what
  // fp32 rounding is relative to.
  std::vector<double> formula(const float* x, float weight, float limit, bool act_quant) const {
    std::vector<float> w(static_cast<size_t>(std::max(dim, inter)));
    const auto dot = [&w](Format f, const uint8_t* m, int row, int k, const float* in) {
      const size_t bytes = row_bytes(f, static_cast<uint64_t>(k)).value();
      decode_row(f, m + bytes * static_cast<size_t>(row), w.data(), static_cast<size_t>(k));
      double sum = 0;
      for (int i = 0; i < k; ++i) sum += static_cast<double>(w[static_cast<size_t>(i)]) * in[i];
      return sum;
    };
    std::vector<float> hidden;
    for (int i = 0; i < inter; ++i) {
      const double g = std::min<double>(dot(job.gate, blob.data(), i, dim, x), limit);
      const double u = dot(job.up, blob.data() + job.up_offset, i, dim, x);
      hidden.push_back(static_cast<float>(weight * g / (1 + std::exp(-g)) *
                                          std::fmax(-limit, std::fmin(u, limit))));
    }
    if (act_quant) fake_quant_fp8(hidden.data(), hidden.size());
    std::vector<double> y;
    for (int o = 0; o < dim; ++o) {
      y.push_back(dot(job.down, blob.data() + job.down_offset, o, inter, hidden.data()));
    }
    return y;
  }
};

// Relative to the largest output, where the dot products have k terms: fp32 sums round at most each
// term by 2^-24, twice where it is scaled; both matrices. Activations have 28 bits, hidden ones
// too.
double tolerance(int k) { return 2 * static_cast<double>(k) * 0x1p-23 + 2 * 0x1p-28; }

struct Call {
  int rows, top_k;
  std::vector<int> experts;  // [rows, top_k]
  std::vector<float> x, weights;

  Call(int rows_, int top_k_, int dim, int count, uint64_t seed) : rows(rows_), top_k(top_k_) {
    for (int r = 0; r < rows; ++r) {
      const auto start = static_cast<int>(splitmix64(seed + static_cast<uint64_t>(r)) % 1000);
      for (int k = 0; k < top_k; ++k) experts.push_back((start + k) % count);
    }
    for (int i = 0; i < rows * dim; ++i)
      x.push_back(uniform(seed * 977 + static_cast<uint64_t>(i)));
    for (int p = 0; p < rows * top_k; ++p) {
      weights.push_back(0.2f + 0.3f * std::fabs(uniform(seed * 31 + static_cast<uint64_t>(p))));
    }
  }
  // Row r alone.
  Call row(int r, int dim) const {
    Call one = *this;
    one.rows = 1;
    one.experts.assign(experts.begin() + r * top_k, experts.begin() + (r + 1) * top_k);
    one.weights.assign(weights.begin() + r * top_k, weights.begin() + (r + 1) * top_k);
    one.x.assign(x.begin() + r * dim, x.begin() + (r + 1) * dim);
    return one;
  }
};

std::vector<float> run(const std::vector<Expert>& experts, const Call& call,
                       const CudaExpertShape& shape, size_t wave = 99) {
  auto kernels = ExpertKernels::create(stream(), shape);
  REQUIRE(kernels.ok());
  for (const Expert& e : experts) e.reset(**kernels);
  const size_t bytes = call.x.size() * sizeof(float);
  auto x = stream().allocate(bytes, "x"), y = stream().allocate(bytes, "y");
  REQUIRE(x.ok());
  REQUIRE(y.ok());
  cudaMemcpyAsync(x.value(), call.x.data(), bytes, cudaMemcpyHostToDevice, stream().use());
  std::vector<std::vector<int>> pairs(experts.size());
  for (int p = 0; p < call.rows * call.top_k; ++p) {
    pairs[static_cast<size_t>(call.experts[static_cast<size_t>(p)])].push_back(p);
  }
  std::vector<CudaExpertJob> jobs;
  for (size_t e = experts.size(); e-- > 0;) {  // not the router's order
    if (pairs[e].empty()) continue;
    jobs.push_back(experts[e].job);
    jobs.back().pairs = pairs[e];
  }
  (*kernels)->begin(static_cast<const float*>(x.value()), call.rows);
  for (size_t i = 0; i < jobs.size(); i += wave) {
    (*kernels)->compute(std::span(jobs).subspan(i, std::min(wave, jobs.size() - i)),
                        call.weights.data());
  }
  (*kernels)->finish(call.rows, static_cast<float*>(y.value()));
  std::vector<float> out(call.x.size());
  cudaMemcpyAsync(out.data(), y.value(), bytes, cudaMemcpyDeviceToHost, stream().use());
  const Status done = stream().wait();
  REQUIRE_MESSAGE(done.ok(), done.message());
  stream().release(x.value());
  stream().release(y.value());
  return out;
}

void check_formula(const std::vector<Expert>& experts, const Call& call,
                   const CudaExpertShape& shape, double within, const char* what) {
  const std::vector<float> y = run(experts, call, shape);
  double worst = 0, scale = 0;
  for (int r = 0; r < call.rows; ++r) {
    std::vector<double> expected(static_cast<size_t>(shape.dim));
    for (int k = 0; k < call.top_k; ++k) {
      const auto p = static_cast<size_t>(r * call.top_k + k);
      const auto part = experts[static_cast<size_t>(call.experts[p])].formula(
          call.x.data() + r * shape.dim, call.weights[p], shape.limit, shape.act_quant);
      for (size_t o = 0; o < part.size(); ++o) expected[o] += part[o];
    }
    for (size_t o = 0; o < expected.size(); ++o) {
      const auto at = static_cast<size_t>(r * shape.dim) + o;
      const double off = std::fabs(y[at] - expected[o]);
      worst = std::isfinite(y[at]) ? std::max(worst, off) : INFINITY;
      scale = std::max(scale, std::fabs(expected[o]));
    }
  }
  MESSAGE(std::string(what), ": largest error ", worst / scale, ", tolerance ", within);
  CHECK_MESSAGE(worst <= within * scale, what);
}

std::vector<Expert> experts_of(Format f, int dim, int inter, int count) {
  std::vector<Expert> all;
  for (int e = 0; e < count; ++e) all.emplace_back(f, f, f, dim, inter, static_cast<uint64_t>(e));
  return all;
}

}  // namespace

TEST_CASE("every format computes the formula") {
  for (const Format f : kFormats) {
    const auto experts = experts_of(f, 512, 256, 3);
    for (const float limit : {0.1f, 10.f}) {
      const CudaExpertShape shape{512, 256, 4, 2, limit, false};
      check_formula(experts, Call(4, 2, 512, 3, 5), shape, tolerance(512), format_info(f).name);
    }
  }
}

TEST_CASE("experts of the real shape") {
  for (const Format f : {Format::kPTQ1_0, Format::kQ2_0, Format::kQ3_K, Format::kMXFP4,
                         Format::kQ8_0, Format::kQ2_K, Format::kF16}) {
    const auto experts = experts_of(f, 5120, 2304, 1);
    const CudaExpertShape shape{5120, 2304, 1, 1, 10.f, false};
    check_formula(experts, Call(1, 1, 5120, 1, 7), shape, tolerance(5120), format_info(f).name);
  }
}

TEST_CASE("small experts, which fill no piece") {
  for (const Format f : {Format::kMXFP4, Format::kQ8_0, Format::kF16, Format::kF32}) {
    const auto experts = experts_of(f, 64, 32, 2);
    const CudaExpertShape shape{64, 32, 2, 2, 0.6f, false};
    check_formula(experts, Call(2, 2, 64, 2, 3), shape, tolerance(64), format_info(f).name);
  }
}

TEST_CASE("matrices of several formats, in one launch") {
  std::vector<Expert> experts;
  experts.emplace_back(Format::kQ2_0, Format::kQ3_K, Format::kPTQ1_0, 512, 256, 1);
  experts.emplace_back(Format::kQ8_0, Format::kQ8_0, Format::kF32, 512, 256, 2);
  experts.emplace_back(Format::kF32, Format::kMXFP4, Format::kQ2_K, 512, 256, 3);
  const CudaExpertShape shape{512, 256, 6, 3, 10.f, false};
  const Call call(6, 3, 512, 3, 9);
  check_formula(experts, call, shape, tolerance(512), "mixed");
  const auto together = run(experts, call, shape);
  CHECK(run(experts, call, shape, 1) == together);
}

TEST_CASE("a row's bits are its own, whatever is beside it, and the same again") {
  for (const Format f : kFormats) {
    CAPTURE(format_info(f).name);
    const auto experts = experts_of(f, 256, 256, 5);
    const CudaExpertShape shape{256, 256, 40, 3, 10.f, false};
    const Call all(16, 3, 256, 5, 21);
    const auto y = run(experts, all, shape);
    CHECK(run(experts, all, shape) == y);
    CHECK(run(experts, all, shape, 1) == y);
    for (int r = 0; r < all.rows; ++r) {
      const auto one = run(experts, all.row(r, 256), shape);
      CHECK(std::memcmp(one.data(), y.data() + r * 256, one.size() * sizeof(float)) == 0);
    }
    // More rows of an expert than a launch takes of it.
    const Call many(40, 3, 256, 5, 22);
    const auto long_y = run(experts, many, shape);
    const auto last = run(experts, many.row(39, 256), shape);
    CHECK(std::memcmp(last.data(), long_y.data() + 39 * 256, last.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("activation quantisation rounds what enters the down matrix") {
  for (const Format f : {Format::kQ2_0, Format::kF32}) {
    const auto experts = experts_of(f, 256, 256, 2);
    const Call call(2, 2, 256, 2, 13);
    CudaExpertShape shape{256, 256, 2, 2, 10.f, true};
    // A hidden value that lies between two codes may be rounded to the other one: one step of 1/16
    // of the value, of 256 that are summed.
    check_formula(experts, call, shape, tolerance(256) + 1.0 / 16 / 16, format_info(f).name);
    const auto rounded = run(experts, call, shape);
    shape.act_quant = false;
    CHECK(run(experts, call, shape) != rounded);
  }
}

TEST_CASE("values far from one, zeros and no numbers") {
  const auto experts = experts_of(Format::kQ2_0, 256, 256, 2);
  for (const float size : {1e-20f, 1e-3f, 1e4f}) {
    Call call(1, 2, 256, 2, 17);
    for (float& v : call.x) v *= size;
    // A bound that is never reached: hidden rows are then split by what they hold.
    const CudaExpertShape shape{256, 256, 1, 2, 1e9f, false};
    if (size > 1e-10f) check_formula(experts, call, shape, tolerance(256), "sizes");
    for (const float v : run(experts, call, shape)) CHECK(std::isfinite(v));
  }
  Call zeros(2, 2, 256, 2, 17);
  std::fill(zeros.x.begin(), zeros.x.begin() + 256, 0.f);
  const CudaExpertShape shape{256, 256, 2, 2, 10.f, false};
  const auto y = run(experts, zeros, shape);
  CHECK(std::all_of(y.begin(), y.begin() + 256, [](float v) { return v == 0; }));
  CHECK(std::any_of(y.begin() + 256, y.end(), [](float v) { return v != 0; }));
  zeros.x[300] = NAN;
  const auto poisoned = run(experts, zeros, shape);
  CHECK(std::all_of(poisoned.begin(), poisoned.begin() + 256, [](float v) { return v == 0; }));
  CHECK(std::all_of(poisoned.begin() + 256, poisoned.end(), [](float v) { return std::isnan(v); }));
}

TEST_CASE("sizes that the kernels do not take are refused") {
  const auto refused = ExpertKernels::create(stream(), {100, 32, 1, 1, 10.f, false});
  REQUIRE(!refused.ok());
  CHECK(refused.status().message() == "experts of 100 x 32: on a GPU both must be multiples of 32");
}

}  // namespace rota
