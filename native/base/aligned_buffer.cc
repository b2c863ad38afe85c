// posix_memalign behind AlignedBuffer.
#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/check.h"

namespace rota {

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    std::free(data_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

Result<AlignedBuffer> AlignedBuffer::allocate(size_t bytes, size_t alignment, bool huge_pages) {
  ROTA_CHECK(alignment >= sizeof(void*) && (alignment & (alignment - 1)) == 0, "alignment",
             alignment);
  AlignedBuffer buffer;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes == 0 ? alignment : bytes) != 0) {
    return Status(Code::kOutOfMemory, "cannot allocate " + std::to_string(bytes) + " bytes");
  }
  buffer.data_ = static_cast<uint8_t*>(memory);
  buffer.size_ = bytes;
#ifdef MADV_HUGEPAGE
  if (huge_pages) {
    const auto begin = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t first = (begin + kPage - 1) / kPage * kPage;
    const uintptr_t last = (begin + bytes) / kPage * kPage;
    // Advice only: a refusal changes speed, not meaning.
    if (last > first) (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
#endif
  return buffer;
}

}  // namespace rota
