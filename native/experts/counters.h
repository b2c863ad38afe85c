// The words in which a placement counts its work. Owns tallies; knows no tier's mechanics and no
// output format. Every number is incremented where its bytes move (or where the router's answer is
// read); none is derived from others, so that lookups = hit + pcie + cpu + file + skipped can fail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "formats/block.h"

namespace rota {

// Where an expert's bytes came from when a pass needed them. Decided when the router's answer is
// known.
enum class Source : uint8_t { kHit, kPcie, kCpu, kFile };
inline constexpr size_t kSources = 4;
const char* source_name(Source source);

// Formats that an expert's blob may have, in the order of the tallies.
inline constexpr std::array<Format, 10> kBlobFormats = {
    Format::kF32,  Format::kF16,  Format::kBF16,   Format::kQ8_0,  Format::kQ2_0,
    Format::kQ3_K, Format::kQ2_K, Format::kPTQ1_0, Format::kMXFP4, Format::kMXFP8};
// A blob whose three matrices differ in format is tallied under the one extra name "mixed".
inline constexpr size_t kBlobClasses = kBlobFormats.size() + 1;
const char* blob_class_name(size_t blob_class);
size_t blob_class(Format gate, Format up, Format down);

struct SourceTally {
  std::array<int64_t, kSources> of{};
  int64_t& operator[](Source s) { return of[static_cast<size_t>(s)]; }
  int64_t operator[](Source s) const { return of[static_cast<size_t>(s)]; }
  SourceTally& operator+=(const SourceTally& other);
};

struct PrefetchTally {
  int64_t issued = 0;  // blobs whose read a router guess started
  int64_t useful = 0;  // of these, needed by the layer
  int64_t late = 0;    // of the useful, not finished when needed (depends on time: never compared)
  int64_t unused_bytes = 0;  // read for nothing
};

struct ExpertTally {
  int64_t lookups = 0;   // (row, chosen expert) pairs of the router's answer
  SourceTally source;    // lookups by source
  int64_t skipped = 0;   // lookups dropped by a lossy knob
  int64_t late = 0;      // lookups that waited for a prefetch (a part of file)
  SourceTally distinct;  // blobs by source: a blob is moved and computed once a layer and pass
  SourceTally bytes;     // of these blobs
  std::array<std::array<int64_t, kBlobClasses>, kSources> blobs{};  // [source][format class]
  PrefetchTally prefetch;
  int64_t admitted = 0;      // experts that entered a device slot
  int64_t demoted = 0;       // slot victims that kept a place in the arena
  int64_t experts_ns = 0;    // inside run()
  int64_t pool_ns = 0;       // of it, while the CPU pool computed
  int64_t pool_bytes = 0;    // of the blobs that it computed
  int64_t file_wait_ns = 0;  // of it, with nothing to compute until a read ended

  ExpertTally& operator+=(const ExpertTally& other);
};

}  // namespace rota
