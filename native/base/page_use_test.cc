// A smaps text says what pages a range got.
#include "base/page_use.h"

#include <doctest/doctest.h>

#include <cstring>

#include "base/aligned_buffer.h"

namespace rota {
namespace {

const char* const kSmaps =
    "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n"
    "Size:               4096 kB\nRss:                3072 kB\nAnonHugePages:      2048 kB\n"
    "7f0000400000-7f0000800000 rw-p 00000000 00:00 0 \n"
    "Rss:                4096 kB\nAnonHugePages:      4096 kB\n"
    "7f0000800000-7f0000a00000 rw-p 00000000 00:0f 1 /anon_hugepage\n"
    "Rss:                   0 kB\nPrivate_Hugetlb:    2048 kB\n";

TEST_CASE("pages of a range, by the share of each mapping inside") {
  const uint64_t base = 0x7f0000000000;
  const PageUse first = page_use_internal::parse_smaps(kSmaps, base, base + 0x400000);
  CHECK(first.resident_bytes == 3072 * 1024);
  CHECK(first.huge_bytes == 2048 * 1024);
  const PageUse half = page_use_internal::parse_smaps(kSmaps, base + 0x400000, base + 0x600000);
  CHECK(half.resident_bytes == 2048 * 1024);
  CHECK(half.huge_bytes == 2048 * 1024);
  const PageUse reserved = page_use_internal::parse_smaps(kSmaps, base + 0x800000, base + 0xa00000);
  CHECK(reserved.resident_bytes == 2048 * 1024);
  CHECK(reserved.huge_bytes == 2048 * 1024);
  CHECK(page_use_internal::parse_smaps(kSmaps, 0, base).resident_bytes == 0);
  CHECK(page_use_internal::parse_smaps("", 0, UINT64_MAX).huge_bytes == 0);
}

TEST_CASE("of this process") {
  auto buffer = AlignedBuffer::allocate(size_t{4} << 20, AlignedBuffer::kPage);
  REQUIRE(buffer.ok());
  std::memset(buffer->data(), 1, buffer->size());
  const PageUse use = page_use(buffer->data(), buffer->size());
  CHECK(use.resident_bytes > 0);
  CHECK(use.huge_bytes <= use.resident_bytes);
}

}  // namespace
}  // namespace rota
