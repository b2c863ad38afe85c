// The probe's rules: every word is read, summaries are right, a file is measured or refused with a
// reason.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/rng.h"
#include "base/temp_dir.h"
#include "base/thread_pool.h"
#include "probe/file_probe.h"
#include "probe/memory_probe.h"
#include "probe/read_choice.h"
#include "probe/read_sum.h"
#include "probe/samples.h"

namespace rota {
namespace {

TEST_CASE("every kernel reads every word") {
  auto buffer = AlignedBuffer::allocate(8192);
  REQUIRE(buffer.ok());
  auto* words = buffer->as<uint64_t>();
  for (const size_t count : {size_t{64}, size_t{128}, size_t{1024}}) {
    uint64_t expected = 0;
    for (size_t i = 0; i < count; ++i) expected += words[i] = splitmix64(i);
    for (const ReadKernel& kernel : read_kernels()) {
      CAPTURE(kernel.name);
      CHECK(kernel.sum(words, count) == expected);
    }
    words[count - 1] += 1;
    for (const ReadKernel& kernel : read_kernels()) {
      CAPTURE(kernel.name);
      CHECK(kernel.sum(words, count) == expected + 1);
    }
  }
}

TEST_CASE("the kernel of a ceiling is one of those this CPU runs") {
  auto buffer = AlignedBuffer::allocate(size_t{4} << 20);
  REQUIRE(buffer.ok());
  ThreadPoolOptions options;
  options.threads = 2;
  ThreadPool threads(options);
  const ReadKernel best =
      fastest_read_kernel(threads, buffer->as<uint64_t>(), (size_t{4} << 20) / 8);
  const auto kernels = read_kernels();
  CHECK(std::any_of(kernels.begin(), kernels.end(),
                    [&](const ReadKernel& kernel) { return kernel.sum == best.sum; }));
}

TEST_CASE("summaries") {
  const RateSummary odd = summarise(2, {3, 1, 2});
  CHECK(odd.n == 3);
  CHECK(odd.median_bytes_per_s == 2);
  CHECK(odd.best_bytes_per_s == 3);
  CHECK(summarise(1, {4, 1, 3, 2}).median_bytes_per_s == 2.5);
  CHECK(fastest({summarise(1, {1}), summarise(2, {5}), summarise(4, {3})})->threads == 2);
  CHECK(fastest({}) == nullptr);
}

TEST_CASE("thread counts end with all threads") {
  CHECK(thread_counts(1) == std::vector<int>{1});
  CHECK(thread_counts(3) == std::vector<int>{1, 2, 3});
  CHECK(thread_counts(16) == std::vector<int>{1, 2, 4, 8, 16});
  CHECK(thread_counts(12) == std::vector<int>{1, 2, 4, 8, 12});
}

TEST_CASE("cache sizes") {
  CHECK(parse_cache_size("32768K") == uint64_t{32768} << 10);
  CHECK(parse_cache_size("105M") == uint64_t{105} << 20);
  CHECK(parse_cache_size("64") == 64);
  CHECK(parse_cache_size("") == 0);
  CHECK(parse_cache_size("5G") == 0);
}

TEST_CASE("a small memory probe gives positive rates for each thread count") {
  MemoryProbeOptions options;
  options.buffer_bytes = 8 << 20;
  options.seconds = 0.02;
  options.max_threads = 2;
  const auto probe = probe_memory(options);
  REQUIRE(probe.ok());
  REQUIRE(probe.value().by_threads.size() == 2);
  for (const RateSummary& rate : probe.value().by_threads) {
    CHECK(rate.n >= 3);
    CHECK(rate.median_bytes_per_s > 0);
    CHECK(rate.best_bytes_per_s >= rate.median_bytes_per_s);
  }
  options.buffer_bytes = uint64_t{1} << 60;
  CHECK(probe_memory(options).status().code() == Code::kOutOfMemory);
}

TEST_CASE("a file is read in blocks, or refused with a reason") {
  const TempDir dir;
  FileProbeOptions options;
  options.path = dir.write("data", std::string(3 << 20, 'x'));
  options.seconds = 0.01;
  auto probe = probe_file(options);
  REQUIRE(probe.ok());
  CHECK(probe->block_bytes == 2 << 20);
  CHECK(probe->by_readers.size() == 2);
  CHECK(probe->by_readers[0].best_bytes_per_s > 0);
  CHECK(probe->direct == probe->why_buffered.empty());

  options.path = dir.write("small", std::string(5000, 'x'));
  probe = probe_file(options);
  REQUIRE(probe.ok());
  CHECK(probe->block_bytes == 5000);

  options.block_bytes = 5001;
  CHECK(probe_file(options).status().message() ==
        options.path + ": a block of 5001 bytes is larger than the file, 5000");
  CHECK(probe_file(options).status().code() == Code::kUsage);
  options.path = dir / "none";
  CHECK(probe_file(options).status().code() == Code::kIo);
  options.path = dir.write("empty", "");
  CHECK(probe_file(options).status().message() == options.path + ": the file is empty");
}

}  // namespace
}  // namespace rota
