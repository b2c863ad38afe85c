// The staging area between the file tier and the pool: a bounded set of buffers for what a layer
// needs now, and one for what the next layer is guessed to need. Owns buffers and open reads;
// decides no source and counts no lookup.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "experts/blob_reader.h"
#include "experts/counters.h"

namespace rota {

class FileStage {
 public:
  struct Options {
    int readers = 4;
    int demand = 8;    // buffers for what is needed now
    int prefetch = 0;  // blobs a layer that may be read ahead
    uint64_t max_blob = 0;
  };
  static Result<std::unique_ptr<FileStage>> create(const BlobSource& source,
                                                   const Options& options);
  ~FileStage();

  int prefetch_limit() const { return options_.prefetch; }

  // Starts reading `expert` for `layer`, which is the next layer to be collected; false = no buffer
  // is left.
  bool prefetch(int layer, int expert, PrefetchTally& tally);

  // A layer call: collect() names the file-held experts it needs, in order; then next() until it
  // returns an empty list; every blob it returned is given back by done(). finish() ends the call,
  // also after an error. late[i] = expert i was being prefetched and its read had not ended.
  void collect(int layer, std::span<const int> experts, std::span<uint8_t> late,
               PrefetchTally& tally);
  struct Ready {
    size_t index = 0;  // into `experts`
    const uint8_t* blob = nullptr;
  };
  // Waits for the first that is not yet returned, and adds those behind it whose reads have ended.
  Result<std::span<const Ready>> next();
  void done(size_t index);
  void finish(PrefetchTally& tally);

  // Nothing is guessed any more: after a failed pass.
  void forget_prefetches(PrefetchTally& tally);

 private:
  struct Buffer {
    AlignedBuffer memory;
    int expert = -1;  // -1 = nobody wants it
    int layer = -1;
    int ticket = -1;  // -1 = no read is open
  };
  FileStage(const BlobSource& source, const Options& options);
  void settle(Buffer& buffer);  // closes a read that nobody waits for
  void discard(Buffer& buffer, PrefetchTally& tally);
  void issue();

  const BlobSource& source_;
  Options options_;
  std::vector<Buffer> demand_;
  std::vector<Buffer> ahead_[2];  // by layer parity: one is read while the other is computed
  // Of the call in progress.
  int layer_ = -1;
  std::vector<int> experts_;
  std::vector<Buffer*> buffer_of_;  // [experts_], nullptr = not yet being read
  size_t issued_ = 0, returned_ = 0;
  std::vector<Ready> ready_;
  std::unique_ptr<BlobReader> reader_;  // last: its threads end before the buffers go
};

}  // namespace rota
