// Bounded staging of file-tier blobs: demand reads in waves, guesses one layer ahead.
#include "experts/file_stage.h"

#include <algorithm>

#include "base/check.h"

namespace rota {

FileStage::FileStage(const BlobSource& source, const Options& options)
    : source_(source), options_(options) {
  const auto experts = static_cast<size_t>(source.experts());
  experts_.reserve(experts);
  buffer_of_.reserve(experts);
  ready_.reserve(experts);
  demand_.resize(static_cast<size_t>(options.demand));
  for (auto& half : ahead_) half.resize(static_cast<size_t>(options.prefetch));
}

Result<std::unique_ptr<FileStage>> FileStage::create(const BlobSource& source,
                                                     const Options& options) {
  std::unique_ptr<FileStage> stage(new FileStage(source, options));
  for (auto* set : {&stage->demand_, &stage->ahead_[0], &stage->ahead_[1]}) {
    for (Buffer& buffer : *set) {
      ROTA_ASSIGN_OR_RETURN(buffer.memory, AlignedBuffer::allocate(options.max_blob));
    }
  }
  stage->reader_ =
      std::make_unique<BlobReader>(source, options.readers, options.demand + 2 * options.prefetch);
  ROTA_RETURN_IF_ERROR(stage->reader_->prepared());
  return stage;
}

FileStage::~FileStage() = default;

void FileStage::settle(Buffer& buffer) {
  // A failed guess is no failure: if the expert is needed, it is read again and that read reports.
  if (buffer.ticket >= 0) static_cast<void>(reader_->wait(buffer.ticket));
  buffer.ticket = -1;
}

void FileStage::discard(Buffer& buffer, PrefetchTally& tally) {
  if (buffer.expert < 0) return;
  tally.unused_bytes += static_cast<int64_t>(source_.layout(buffer.layer, buffer.expert).bytes);
  buffer.expert = -1;  // its read may still be under way: settled before the buffer is used again
}

bool FileStage::prefetch(int layer, int expert, PrefetchTally& tally) {
  for (Buffer& buffer : ahead_[layer & 1]) {
    if (buffer.expert >= 0) continue;
    settle(buffer);
    buffer.expert = expert;
    buffer.layer = layer;
    buffer.ticket =
        reader_->submit(layer, expert, buffer.memory.data(), BlobReader::Priority::kPrefetch);
    ++tally.issued;
    return true;
  }
  return false;
}

void FileStage::collect(int layer, std::span<const int> experts, std::span<uint8_t> late,
                        PrefetchTally& tally) {
  ROTA_CHECK(layer_ < 0, "layer", layer_, "is not finished");
  layer_ = layer;
  experts_.assign(experts.begin(), experts.end());
  buffer_of_.assign(experts.size(), nullptr);
  issued_ = returned_ = 0;
  for (size_t i = 0; i < experts.size(); ++i) {
    late[i] = 0;
    for (Buffer& buffer : ahead_[layer & 1]) {
      if (buffer.layer != layer || buffer.expert != experts[i]) continue;
      buffer_of_[i] = &buffer;
      ++tally.useful;
      if (!reader_->done(buffer.ticket)) {
        late[i] = 1;
        ++tally.late;
        reader_->promote(buffer.ticket);
      }
    }
  }
  issue();
}

// Starts reads in order while buffers last.
void FileStage::issue() {
  for (; issued_ < experts_.size(); ++issued_) {
    if (buffer_of_[issued_] != nullptr) continue;
    const auto free =
        std::find_if(demand_.begin(), demand_.end(), [](const Buffer& b) { return b.expert < 0; });
    if (free == demand_.end()) return;
    free->expert = experts_[issued_];
    free->layer = layer_;
    free->ticket =
        reader_->submit(layer_, free->expert, free->memory.data(), BlobReader::Priority::kDemand);
    buffer_of_[issued_] = &*free;
  }
}

Result<std::span<const FileStage::Ready>> FileStage::next() {
  ready_.clear();
  while (returned_ < experts_.size() && buffer_of_[returned_] != nullptr) {
    Buffer& buffer = *buffer_of_[returned_];
    if (!ready_.empty() && !reader_->done(buffer.ticket)) break;
    const Status status = reader_->wait(buffer.ticket);
    buffer.ticket = -1;
    if (!status.ok()) return status;
    ready_.push_back({returned_, buffer.memory.data()});
    ++returned_;
  }
  return std::span<const Ready>(ready_);
}

void FileStage::done(size_t index) {
  buffer_of_[index]->expert = -1;
  issue();
}

void FileStage::finish(PrefetchTally& tally) {
  for (Buffer& buffer : demand_) {
    settle(buffer);
    buffer.expert = -1;
  }
  // What was collected went back through done(); what is left was guessed wrongly (or the call
  // failed).
  for (Buffer& buffer : ahead_[layer_ & 1]) discard(buffer, tally);
  layer_ = -1;
}

void FileStage::forget_prefetches(PrefetchTally& tally) {
  for (auto& half : ahead_) {
    for (Buffer& buffer : half) discard(buffer, tally);
  }
}

}  // namespace rota
