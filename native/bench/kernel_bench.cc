// Shortest of many passes over a stretch of outputs, on the calling thread.
#include "bench/kernel_bench.h"

#include <algorithm>
#include <limits>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/cpu_features.h"
#include "base/rng.h"
#include "device/host/matvec_activations.h"
#include "device/host/matvec_int_kernels.h"
#include "formats/random_blocks.h"
#include "probe/read_choice.h"

namespace rota {
namespace {

// A pass is short, so that some pass of many meets a quiet machine.
constexpr uint64_t kPassBytes = uint64_t{2} << 20;

struct Variant {
  const char* name;
  MatvecIntFn run;
  bool here;
};

std::vector<Variant> all_variants() {
  const CpuFeatures has = cpu_internal::detect();
  return {{"portable", matvec_int_portable, true},
          {"avx2", matvec_int_avx2, has.avx2},
          {"avx512", matvec_int_avx512, has.avx512}};
}

Result<std::vector<Variant>> chosen_variants(const std::vector<std::string>& names) {
  std::vector<Variant> out;
  for (const std::string& name : names) {
    bool known = false;
    for (const Variant& variant : all_variants()) {
      if (name != variant.name) continue;
      if (!variant.here) return Status(Code::kUsage, "this CPU has no " + name);
      known = true;
      out.push_back(variant);
    }
    if (!known) {
      return Status(Code::kUsage,
                    "unknown variant '" + name + "'; there are portable, avx2, avx512");
    }
  }
  return out;
}

template <typename Fn>
double shortest_seconds(double seconds, Fn&& pass) {
  const int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    const int64_t begin = now_ns();
    pass();
    best = std::min(best, now_ns() - begin);
  } while (now_ns() < end);
  return static_cast<double>(std::max<int64_t>(best, 1)) * 1e-9;
}

// A 64-bit multiplication takes three cycles on every x86-64 CPU of the last ten years.
double measured_hertz() {
  constexpr int kMultiplications = 200000, kCycles = 3;
  uint64_t value = 3;
  const double seconds = shortest_seconds(0.1, [&value] {
    for (int i = 0; i < kMultiplications; ++i) {
      value *= 0x9e3779b97f4a7c15u;
      asm volatile("" : "+r"(value));
    }
  });
  return kMultiplications * kCycles / seconds;
}

class Bench {
 public:
  explicit Bench(const KernelBenchOptions& options) : options_(options) {}

  Status allocate() {
    ROTA_ASSIGN_OR_RETURN(weights_,
                          AlignedBuffer::allocate(options_.far_bytes, size_t{2} << 20, true));
    return Status();
  }

  double read_rate() const {
    ThreadPoolOptions one;
    one.threads = 1;
    ThreadPool thread(one);
    const ReadSum sum =
        fastest_read_kernel(thread, reinterpret_cast<const uint64_t*>(weights_.data()),
                            (weights_.size() >> 20) << 17)
            .sum;
    uint64_t at = 0, total = 0;
    const double seconds = shortest_seconds(options_.seconds, [&] {
      total += sum(reinterpret_cast<const uint64_t*>(weights_.data() + at), kPassBytes / 8);
      at = (at + kPassBytes) % (options_.far_bytes / kPassBytes * kPassBytes);
    });
    asm volatile("" ::"r"(total));
    return kPassBytes / seconds;
  }

  Status prepare(Format f) {
    format_ = f;
    layout_ = row_layout(f);
    if (layout_ == RowLayout::kNone) {
      return Status(Code::kUsage, std::string(format_info(f).name) + ": no integer kernel");
    }
    ROTA_ASSIGN_OR_RETURN(row_bytes_, row_bytes(f, options_.k));
    const size_t block = format_info(f).block_bytes;
    random_blocks(f, 1, weights_.data(), weights_.size() / block * block);
    return quantise();
  }

  KernelCell cell(const Variant& variant, int rows, double hertz) {
    KernelCell out{variant.name, format_, rows, 0, 0, 0};
    const size_t near = std::max<size_t>(2, options_.near_bytes / row_bytes_);
    const double near_seconds =
        shortest_seconds(options_.seconds, [&] { pass(variant, 0, near, rows); });
    out.near_weights_per_cycle = static_cast<double>(near * options_.k) / (near_seconds * hertz);
    out.near_bytes_per_s = static_cast<double>(near * row_bytes_) / near_seconds;
    const size_t step = std::max<size_t>(2, kPassBytes / row_bytes_);
    const size_t all = weights_.size() / row_bytes_ / step * step;
    size_t at = 0;
    const double far_seconds = shortest_seconds(options_.seconds, [&] {
      pass(variant, at, at + step, rows);
      at = (at + step) % all;
    });
    out.far_bytes_per_s = static_cast<double>(step * row_bytes_) / far_seconds;
    return out;
  }

 private:
  Status quantise() {
    const auto rows =
        static_cast<size_t>(*std::max_element(options_.rows.begin(), options_.rows.end()));
    const size_t bytes = quantised_row_bytes(layout_, options_.k);
    ROTA_ASSIGN_OR_RETURN(activations_, AlignedBuffer::allocate(rows * bytes));
    y_.resize(rows * (weights_.size() / row_bytes_ + 1));
    std::vector<float> x(options_.k);
    in_.clear();
    out_.clear();
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(2 * unit_double(splitmix64(r * x.size() + i)) - 1);
      }
      quantise_row(layout_, x.data(), x.size(), 0, x.size(), activations_.data() + r * bytes);
      in_.push_back(activations_.data() + r * bytes);
      out_.push_back(y_.data() + r * (weights_.size() / row_bytes_));
    }
    return Status();
  }

  void pass(const Variant& variant, size_t begin, size_t end, int rows) {
    variant.run(format_, weights_.data(), begin, end, options_.k, in_.data(), rows, out_.data());
  }

  const KernelBenchOptions& options_;
  AlignedBuffer weights_, activations_;
  Format format_ = Format::kQ8_0;
  RowLayout layout_ = RowLayout::kNone;
  size_t row_bytes_ = 0;
  std::vector<float> y_;
  std::vector<const void*> in_;
  std::vector<float*> out_;
};

}  // namespace

Result<KernelResult> run_kernel_bench(const KernelBenchOptions& options) {
  std::vector<std::string> names = options.variants;
  if (names.empty()) names.emplace_back(cpu_features().name());
  ROTA_ASSIGN_OR_RETURN(const std::vector<Variant> variants, chosen_variants(names));
  Bench bench(options);
  ROTA_RETURN_IF_ERROR(bench.allocate());
  KernelResult result;
  result.hertz = measured_hertz();
  for (const Format f : options.formats) {
    ROTA_RETURN_IF_ERROR(bench.prepare(f));
    if (result.read_bytes_per_s == 0) result.read_bytes_per_s = bench.read_rate();
    for (const Variant& variant : variants) {
      for (const int rows : options.rows) {
        result.cells.push_back(bench.cell(variant, rows, result.hertz));
      }
    }
  }
  return result;
}

}  // namespace rota
