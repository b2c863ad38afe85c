// What pages a range of memory really got. Reads /proc/self; changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rota {

struct PageUse {
  uint64_t resident_bytes = 0;
  uint64_t huge_bytes = 0;  // of them on huge pages, transparent or reserved ones
};

// Of the mappings that touch [data, data + bytes); a mapping that is partly outside counts by the
// share of it that is inside. Zeros where the system does not say.
PageUse page_use(const void* data, size_t bytes);

namespace page_use_internal {
// The same from the text of a smaps file.
PageUse parse_smaps(const std::string& smaps, uint64_t begin, uint64_t end);
}  // namespace page_use_internal

}  // namespace rota
