// Expert blobs with seeded random bits, as many as fit into one buffer. Owns the buffer and what it
// is filled with; knows no clock and no pool of experts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "experts/blob.h"

namespace rota {

struct BlobShape {
  int dim = 5120, moe_inter = 2304;  // DeepSeek-V4.1's routed expert
};

class RandomBlobs {
 public:
  // kOutOfMemory names the bytes.
  static Result<RandomBlobs> allocate(uint64_t bytes, BlobShape shape, bool huge_pages);

  // Distinct bits in every blob, the same for the same seed. kUsage: a format without a rule, or
  // fewer than two blobs.
  Status fill(Format format, uint64_t seed, ThreadPool& threads);

  size_t count() const { return count_; }
  const uint8_t* blob(size_t i) const { return memory_.data() + i * stride_; }
  const BlobLayout& layout() const { return layout_; }
  BlobShape shape() const { return shape_; }
  // All of it, what lies behind the last blob included.
  std::span<const uint8_t> memory() const { return {memory_.data(), memory_.size()}; }

 private:
  AlignedBuffer memory_;
  BlobShape shape_;
  BlobLayout layout_;
  size_t count_ = 0, stride_ = 0;
};

}  // namespace rota
