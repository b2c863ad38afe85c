// Batches of random blocks read by several threads.
#include "probe/file_probe.h"

#include <algorithm>
#include <mutex>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/direct_file.h"
#include "base/rng.h"
#include "base/thread_pool.h"

namespace rota {
namespace {

constexpr uint64_t kDefaultBlock = uint64_t{2} << 20;
constexpr uint64_t kBatchBytes = uint64_t{32} << 20;  // read between two looks at the clock
constexpr int kLeastSamples = 3;
constexpr int kReaderCounts[] = {1, 4};

// The k-th random offset that is on the sector grid and leaves room for a block.
uint64_t offset_of(uint64_t k, uint64_t file_bytes, uint64_t block_bytes) {
  const uint64_t places = (file_bytes - block_bytes) / DirectFile::kAlignment + 1;
  return splitmix64(k) % places * DirectFile::kAlignment;
}

// Reads batches of random blocks with `readers` threads until the time is over.
class Readers {
 public:
  Readers(const DirectFile& file, uint64_t block_bytes, int readers)
      : file_(file), block_bytes_(block_bytes), pool_(pool_options(readers)) {}

  Status allocate(uint64_t blocks) {
    // A buffer for each block of a batch: which thread reads it does not matter.
    for (uint64_t i = 0; i < blocks; ++i) {
      ROTA_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                            AlignedBuffer::allocate(DirectFile::in_place_capacity(block_bytes_),
                                                    DirectFile::kAlignment));
      buffers_.push_back(std::move(buffer));
    }
    return Status();
  }

  Result<double> batch(uint64_t number) {
    const int64_t begin = now_ns();
    Status failure;
    std::mutex lock;
    pool_.run(static_cast<int>(buffers_.size()), [&](int i) {
      const auto index = static_cast<uint64_t>(i);
      const uint64_t offset =
          offset_of(number * buffers_.size() + index, file_.size(), block_bytes_);
      const auto read = file_.read_in_place(offset, block_bytes_, buffers_[index].data());
      if (read.ok()) return;
      const std::lock_guard<std::mutex> guard(lock);
      failure = read.status();
    });
    if (!failure.ok()) return failure;
    const int64_t ns = std::max<int64_t>(1, now_ns() - begin);
    return static_cast<double>(buffers_.size() * block_bytes_) * 1e9 / static_cast<double>(ns);
  }

 private:
  static ThreadPoolOptions pool_options(int readers) {
    ThreadPoolOptions options;
    options.threads = readers;
    options.pin = false;  // they wait for the disk, not for a core
    options.name = "rota-read";
    options.spin_us = 0;
    return options;
  }

  const DirectFile& file_;
  const uint64_t block_bytes_;
  ThreadPool pool_;
  std::vector<AlignedBuffer> buffers_;
};

}  // namespace

Result<FileProbe> probe_file(const FileProbeOptions& options) {
  ROTA_ASSIGN_OR_RETURN(const DirectFile file, DirectFile::open(options.path));
  if (file.size() == 0) return Status(Code::kIo, options.path + ": the file is empty");
  FileProbe probe;
  probe.direct = file.direct();
  probe.why_buffered = file.why_buffered();
  probe.block_bytes =
      options.block_bytes > 0 ? options.block_bytes : std::min(kDefaultBlock, file.size());
  if (probe.block_bytes > file.size()) {
    return Status(Code::kUsage, options.path + ": a block of " + std::to_string(probe.block_bytes) +
                                    " bytes is larger than the file, " +
                                    std::to_string(file.size()));
  }
  const uint64_t blocks = std::clamp<uint64_t>(kBatchBytes / probe.block_bytes, 4, 4096);
  const auto budget_ns =
      static_cast<int64_t>(options.seconds * 1e9 / static_cast<double>(std::size(kReaderCounts)));
  uint64_t number = 0;
  for (const int count : kReaderCounts) {
    Readers readers(file, probe.block_bytes, count);
    ROTA_RETURN_IF_ERROR(readers.allocate(blocks));
    std::vector<double> rates;
    const int64_t end = now_ns() + budget_ns;
    while (static_cast<int>(rates.size()) < kLeastSamples || now_ns() < end) {
      ROTA_ASSIGN_OR_RETURN(const double rate, readers.batch(number++));
      rates.push_back(rate);
    }
    probe.by_readers.push_back(summarise(count, std::move(rates)));
  }
  return probe;
}

}  // namespace rota
