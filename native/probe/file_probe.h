// How fast random blocks of a file can be read past the page cache. Owns readers and their buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "probe/samples.h"

namespace rota {

struct FileProbeOptions {
  std::string path;
  uint64_t block_bytes = 0;  // 0: 2 MiB, or the whole file where that is smaller
  double seconds = 0.5;      // for all reader counts together
};

struct FileProbe {
  bool direct = false;
  std::string why_buffered;  // empty when direct
  uint64_t block_bytes = 0;
  std::vector<RateSummary> by_readers;
};

// kIo names the file; kUsage for a block larger than the file.
Result<FileProbe> probe_file(const FileProbeOptions& options);

}  // namespace rota
