// The experts of an opened model as a BlobSource: spans of its files, read past the page cache.
// Owns the descriptors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/direct_file.h"
#include "base/mmap_file.h"
#include "experts/blob.h"
#include "model/weight_source.h"

namespace rota {

class FileBlobs : public BlobSource {
 public:
  enum class Half { kTarget, kDraft };
  // The weights must outlive it.
  static Result<std::unique_ptr<FileBlobs>> open(const WeightSource& weights, Half half);

  int layers() const override { return layers_; }
  int experts() const override { return experts_; }
  const BlobLayout& layout(int layer, int expert) const override {
    return layouts_[index(layer, expert)];
  }
  Status prepare_thread() const override { return DirectFile::prepare_thread(); }
  Status read(int layer, int expert, uint64_t offset, uint64_t bytes, uint8_t* dst) const override;

  const uint8_t* in_place(int layer, int expert) const override;
  std::vector<std::span<const uint8_t>> in_place_memory() const override;

  // Whether every blob is one stretch of one file, and whether these files are memory (tmpfs).
  bool contiguous() const;
  bool on_tmpfs() const;
  // From here on in_place() says where they are. seal_in_place() when the device has registered
  // the memory: nobody writes it from then on.
  Status map_in_place();
  void seal_in_place();

  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t largest_bytes() const { return largest_bytes_; }
  // Empty when every file is read with O_DIRECT; else why not.
  const std::string& why_buffered() const { return why_buffered_; }

 private:
  FileBlobs(const WeightSource& weights, Half half);
  size_t index(int layer, int expert) const {
    return static_cast<size_t>(layer) * static_cast<size_t>(experts_) + static_cast<size_t>(expert);
  }
  const ExpertBlob& blob(int layer, int expert) const;

  const WeightSource& weights_;
  Half half_;
  int layers_ = 0, experts_ = 0;
  std::vector<BlobLayout> layouts_;
  std::vector<int> used_files() const;

  std::vector<DirectFile> files_;  // by file index of the weights
  std::vector<MmapFile> maps_;     // the same; empty: not in place
  uint64_t total_bytes_ = 0, largest_bytes_ = 0;
  std::string why_buffered_;
};

}  // namespace rota
