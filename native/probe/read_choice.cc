// Passes of every kernel, interleaved: noise of the machine meets all of them alike.
#include "probe/read_choice.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/check.h"
#include "base/clock.h"

namespace rota {
namespace {

constexpr size_t kSliceWords = size_t{1} << 17;
constexpr size_t kMostSlices = 512;  // enough for any cache, short enough to be tried often
constexpr int kPasses = 5;

}  // namespace

ReadKernel fastest_read_kernel(ThreadPool& threads, const uint64_t* words, size_t count) {
  ROTA_CHECK(count > 0 && count % kSliceWords == 0, "words", count);
  const std::vector<ReadKernel> kernels = read_kernels();
  const auto slices = static_cast<int>(std::min(count / kSliceWords, kMostSlices));
  std::vector<int64_t> shortest(kernels.size(), INT64_MAX);
  std::atomic<uint64_t> sink{0};
  for (int pass = 0; pass < kPasses; ++pass) {
    for (size_t k = 0; k < kernels.size(); ++k) {
      const int64_t begin = now_ns();
      threads.run(slices, [&](int slice) {
        const uint64_t* part = words + static_cast<size_t>(slice) * kSliceWords;
        sink.fetch_add(kernels[k].sum(part, kSliceWords), std::memory_order_relaxed);
      });
      shortest[k] = std::min(shortest[k], now_ns() - begin);
    }
  }
  const auto best = std::min_element(shortest.begin(), shortest.end()) - shortest.begin();
  return kernels[static_cast<size_t>(best)];
}

}  // namespace rota
