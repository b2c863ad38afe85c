// posix_memalign, or a mapping of reserved huge pages, behind AlignedBuffer.
#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/memory_placement.h"

namespace rota {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Reserved pages (vm.nr_hugepages), if enough are free: the mapping fails otherwise. Null: none.
uint8_t* map_reserved(size_t bytes) {
#ifdef MAP_HUGETLB
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (memory != MAP_FAILED) return static_cast<uint8_t*>(memory);
#endif
  return nullptr;
}

// Advice only: a refusal changes speed, not meaning.
void advise_pages(uint8_t* memory, size_t bytes, bool huge) {
#ifdef MADV_HUGEPAGE
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first =
      (begin + AlignedBuffer::kPage - 1) / AlignedBuffer::kPage * AlignedBuffer::kPage;
  const uintptr_t last = (begin + bytes) / AlignedBuffer::kPage * AlignedBuffer::kPage;
  if (last <= first) return;
  (void)madvise(reinterpret_cast<void*>(first), last - first,
                huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

}  // namespace

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    free();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { free(); }

void AlignedBuffer::free() {
  if (mapped_ > 0) {
    munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
}

Result<AlignedBuffer> AlignedBuffer::allocate(size_t bytes, size_t alignment, bool huge_pages) {
  ROTA_CHECK(
      alignment >= sizeof(void*) && alignment <= kHugePage && (alignment & (alignment - 1)) == 0,
      "alignment", alignment);
  AlignedBuffer buffer;
  buffer.size_ = bytes;
  const bool huge = huge_pages && huge_pages_wanted() && bytes >= kHugePage;
  const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  // Reserved pages belong to a node each; with memory bound to others a touch would be fatal.
  if (huge && !numa_memory_is_bound()) buffer.data_ = map_reserved(whole);
  if (buffer.data_ != nullptr) {
    buffer.mapped_ = whole;
    return buffer;
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, huge ? kHugePage : alignment, bytes == 0 ? alignment : bytes) != 0) {
    return Status(Code::kOutOfMemory, "cannot allocate " + std::to_string(bytes) + " bytes");
  }
  buffer.data_ = static_cast<uint8_t*>(memory);
  if (huge_pages) advise_pages(buffer.data_, bytes, huge);
  return buffer;
}

}  // namespace rota
