// Pieces of tensors, claimed by threads in the order of the files.
#include "model/synthetic_writer.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/check.h"
#include "base/thread_pool.h"

namespace rota {
namespace {

struct Piece {
  PlannedFile* file;
  size_t tensor;
  uint64_t first, weights;
};

std::vector<Piece> pieces_of(PlannedFile& file) {
  std::vector<Piece> pieces;
  for (size_t t = 0; t < file.tensors.size(); ++t) {
    const PlannedTensor& tensor = file.tensors[t];
    const uint64_t all = tensor.weights();
    for (uint64_t first = 0; first < all; first += tensor.stride) {
      pieces.push_back({&file, t, first, std::min(tensor.stride, all - first)});
    }
  }
  return pieces;
}

// Files in turn: a file system lets one thread at a time into a file.
std::vector<Piece> pieces_of(const std::vector<std::unique_ptr<PlannedFile>>& files) {
  std::vector<std::vector<Piece>> each;
  size_t longest = 0;
  for (const auto& file : files) {
    each.push_back(pieces_of(*file));
    longest = std::max(longest, each.back().size());
  }
  std::vector<Piece> all;
  for (size_t i = 0; i < longest; ++i) {
    for (const auto& pieces : each) {
      if (i < pieces.size()) all.push_back(pieces[i]);
    }
  }
  return all;
}

class Work {
 public:
  explicit Work(const WriteHooks& hooks) : hooks_(hooks) {}

  void write(const Piece& piece) {
    if (failed()) return;
    // Kept by the thread: to give pages of megabytes back after each piece costs as much as it.
    thread_local std::vector<uint8_t> buffer;
    const PlannedTensor& tensor = piece.file->tensors[piece.tensor];
    const size_t bytes = bytes_before(tensor, piece.weights);
    if (buffer.size() < bytes) buffer.resize(bytes);
    tensor.fill(piece.first, piece.weights, buffer.data());
    const Status status = piece.file->writer.write_at(
        piece.tensor, bytes_before(tensor, piece.first), buffer.data(), bytes);
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    status_ = status;
    if (!status_.ok()) return;
    if (hooks_.made) hooks_.made(piece.weights);
    if (hooks_.stopped && hooks_.stopped()) status_ = Status(Code::kCancelled, "interrupted");
  }

  const Status& status() const { return status_; }  // when no thread writes any more

 private:
  bool failed() {
    const std::lock_guard lock(mutex_);
    return !status_.ok();
  }
  static size_t bytes_before(const PlannedTensor& tensor, uint64_t weights) {
    const auto bytes = row_bytes(tensor.format, weights);
    ROTA_CHECK(bytes.ok(), bytes.status().message());
    return bytes.value();
  }

  const WriteHooks& hooks_;
  std::mutex mutex_;
  Status status_;
};

}  // namespace

Status write_planned(const std::vector<std::unique_ptr<PlannedFile>>& files, int threads,
                     const WriteHooks& hooks) {
  for (const auto& file : files) ROTA_RETURN_IF_ERROR(file->writer.begin_data());
  const std::vector<Piece> pieces = pieces_of(files);
  Work work(hooks);
  {
    ThreadPoolOptions options;
    options.threads = threads;
    options.pin = false;
    ThreadPool pool(options);
    pool.run(static_cast<int>(pieces.size()),
             [&](int i) { work.write(pieces[static_cast<size_t>(i)]); });
  }
  ROTA_RETURN_IF_ERROR(work.status());
  for (size_t i = 0; i < files.size(); ++i) {
    const Status status = files[i]->writer.finish();
    if (status.ok()) continue;
    // Shards without the others, or without their sidecar, would be taken for a model.
    std::error_code ignored;
    for (size_t whole = 0; whole < i; ++whole) std::filesystem::remove(files[whole]->path, ignored);
    return status;
  }
  return Status();
}

}  // namespace rota
