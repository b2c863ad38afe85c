// As many blobs as fit, each with a seed of its own.
#include "bench/random_blobs.h"

#include <string>

#include "base/rng.h"
#include "formats/random_blocks.h"

namespace rota {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kBlobAlignment = 64;

}  // namespace

Result<RandomBlobs> RandomBlobs::allocate(uint64_t bytes, BlobShape shape, bool huge_pages) {
  RandomBlobs blobs;
  blobs.shape_ = shape;
  const uint64_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  ROTA_ASSIGN_OR_RETURN(blobs.memory_, AlignedBuffer::allocate(whole, kHugePage, huge_pages));
  return blobs;
}

Status RandomBlobs::fill(Format format, uint64_t seed, ThreadPool& threads) {
  ROTA_ASSIGN_OR_RETURN(layout_, blob_layout(format, format, format, shape_.dim, shape_.moe_inter));
  stride_ = (layout_.bytes + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
  count_ = memory_.size() / stride_;
  const FormatInfo& info = format_info(format);
  if (count_ < 2) {
    return Status(Code::kUsage, std::string(info.name) + ": " + std::to_string(memory_.size()) +
                                    " bytes hold fewer than two experts of " +
                                    std::to_string(layout_.bytes));
  }
  if (!has_random_blocks(format)) {
    return Status(Code::kUsage, std::string(info.name) + ": no rule for random blocks of it");
  }
  threads.run(static_cast<int>(count_), [&](int i) {
    random_blocks(format, splitmix64(seed) + static_cast<uint64_t>(i),
                  memory_.data() + static_cast<size_t>(i) * stride_, layout_.bytes);
  });
  return Status();
}

}  // namespace rota
