// Mapped files that lose their pages: a file that is cut while it is mapped makes reads behind its
// new end raise SIGBUS, which would end the process. Here such a read gives zeros instead and the
// loss is remembered, for whoever checks files before their bytes are believed (file_identity.h).
// Owns the signal's handler and the list of mappings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rota {

// From now on [data, data + bytes) may lose its pages. Installs the handler at the first call.
void watch_mapping(const void* data, size_t bytes);
void forget_mapping(const void* data);

// How many times a read found nothing, over all mappings.
int64_t lost_page_reads();

}  // namespace rota
