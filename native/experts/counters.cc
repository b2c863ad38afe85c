// Sums of tallies and their names.
#include "experts/counters.h"

namespace rota {

const char* source_name(Source source) {
  switch (source) {
    case Source::kHit:
      return "hit";
    case Source::kPcie:
      return "pcie";
    case Source::kCpu:
      return "cpu";
    case Source::kFile:
      return "file";
  }
  return "?";
}

const char* blob_class_name(size_t blob_class) {
  return blob_class < kBlobFormats.size() ? format_info(kBlobFormats[blob_class]).name : "mixed";
}

size_t blob_class(Format gate, Format up, Format down) {
  if (gate == up && up == down) {
    for (size_t i = 0; i < kBlobFormats.size(); ++i) {
      if (kBlobFormats[i] == gate) return i;
    }
  }
  return kBlobFormats.size();
}

SourceTally& SourceTally::operator+=(const SourceTally& other) {
  for (size_t s = 0; s < kSources; ++s) of[s] += other.of[s];
  return *this;
}

ExpertTally& ExpertTally::operator+=(const ExpertTally& other) {
  lookups += other.lookups;
  source += other.source;
  skipped += other.skipped;
  late += other.late;
  distinct += other.distinct;
  bytes += other.bytes;
  for (size_t s = 0; s < kSources; ++s) {
    for (size_t c = 0; c < kBlobClasses; ++c) blobs[s][c] += other.blobs[s][c];
  }
  prefetch.issued += other.prefetch.issued;
  prefetch.useful += other.prefetch.useful;
  prefetch.late += other.prefetch.late;
  prefetch.unused_bytes += other.prefetch.unused_bytes;
  admitted += other.admitted;
  demoted += other.demoted;
  experts_ns += other.experts_ns;
  pool_ns += other.pool_ns;
  pool_bytes += other.pool_bytes;
  file_wait_ns += other.file_wait_ns;
  return *this;
}

}  // namespace rota
