// Passes over a large buffer at each thread count.
#include "probe/memory_probe.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "base/topology.h"
#include "probe/read_choice.h"

namespace rota {
namespace {

constexpr uint64_t kSlice = uint64_t{1} << 20;  // what a thread claims at a time
constexpr uint64_t kLeastBuffer = uint64_t{256} << 20;
constexpr int kLeastSamples = 3;

uint64_t last_level_cache_bytes() {
  uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::string text;
    if (file >> text) largest = std::max(largest, parse_cache_size(text));
  }
  return largest;
}

ThreadPoolOptions pool_options(int threads) {
  ThreadPoolOptions options;
  options.threads = threads;
  options.name = "rota-probe";
  return options;
}

// Every word of `slice` is its index plus one, so that the sum says whether all of it was read.
void fill(uint64_t* words, uint64_t slice) {
  const uint64_t first = slice * (kSlice / 8);
  for (uint64_t i = 0; i < kSlice / 8; ++i) words[first + i] = first + i + 1;
}

std::vector<double> measure(int threads, const uint64_t* words, uint64_t slices, ReadSum sum,
                            int64_t budget_ns) {
  ThreadPool pool(pool_options(threads));
  const uint64_t count = slices * (kSlice / 8);
  const uint64_t expected = count % 2 == 0 ? (count / 2) * (count + 1) : count * ((count + 1) / 2);
  std::vector<double> rates;
  const int64_t end = now_ns() + budget_ns;
  while (static_cast<int>(rates.size()) < kLeastSamples || now_ns() < end) {
    std::atomic<uint64_t> total{0};
    const int64_t begin = now_ns();
    pool.run(static_cast<int>(slices), [&](int slice) {
      const uint64_t part = sum(words + static_cast<uint64_t>(slice) * (kSlice / 8), kSlice / 8);
      total.fetch_add(part, std::memory_order_relaxed);
    });
    const int64_t ns = std::max<int64_t>(1, now_ns() - begin);
    ROTA_CHECK(total.load() == expected, "read", total.load(), "expected", expected);
    rates.push_back(static_cast<double>(slices * kSlice) * 1e9 / static_cast<double>(ns));
  }
  return rates;
}

}  // namespace

uint64_t parse_cache_size(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  if (error != std::errc()) return 0;
  return unit == "K" ? number << 10 : unit == "M" ? number << 20 : unit.empty() ? number : 0;
}

Result<MemoryProbe> probe_memory(const MemoryProbeOptions& options) {
  MemoryProbe probe;
  probe.last_level_cache_bytes = last_level_cache_bytes();
  const uint64_t beyond_cache = std::max(kLeastBuffer, 4 * probe.last_level_cache_bytes + kSlice);
  const uint64_t wanted = options.buffer_bytes > 0 ? options.buffer_bytes : beyond_cache;
  const uint64_t slices = std::max<uint64_t>(1, wanted / kSlice);
  probe.buffer_bytes = slices * kSlice;
  const bool huge_pages = true;
  ROTA_ASSIGN_OR_RETURN(
      AlignedBuffer buffer,
      AlignedBuffer::allocate(probe.buffer_bytes, AlignedBuffer::kPage, huge_pages));
  auto* const words = buffer.as<uint64_t>();
  const int most = options.max_threads > 0 ? options.max_threads : usable_cores();
  ReadKernel kernel{};
  {
    ThreadPool pool(pool_options(most));
    pool.run(static_cast<int>(slices),
             [&](int slice) { fill(words, static_cast<uint64_t>(slice)); });
    kernel = fastest_read_kernel(pool, words, slices * (kSlice / 8));
  }
  probe.kernel = kernel.name;
  const std::vector<int> counts = thread_counts(most);
  const auto budget_ns =
      static_cast<int64_t>(options.seconds * 1e9 / static_cast<double>(counts.size()));
  for (const int threads : counts) {
    probe.by_threads.push_back(
        summarise(threads, measure(threads, words, slices, kernel.sum, budget_ns)));
  }
  return probe;
}

}  // namespace rota
