// Rounds rows and lays them out, one chunk at a time.
#include "device/host/matvec_activations.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "base/cpu_features.h"

namespace rota {
namespace {

template <size_t N>
using Order = std::array<int16_t, N>;

constexpr Order<256> pairs_order() {
  Order<256> order{};
  for (int p = 0; p < 256; ++p) {  // 64 words: two halves of 16 of two blocks of 32
    const int half = p % 64 / 32, block = p / 64 * 2 + p % 32 / 16;
    order[static_cast<size_t>(p)] = static_cast<int16_t>(32 * block + 16 * half + p % 16);
  }
  return order;
}

constexpr Order<256> quarters_order() {
  Order<256> order{};
  for (int p = 0; p < 256; ++p) {
    order[static_cast<size_t>(p)] = static_cast<int16_t>(p % 64 / 16 * 64 + p % 16 * 4 + p / 64);
  }
  return order;
}

constexpr Order<256> nibbles_order() {
  Order<256> order{};
  for (int p = 0; p < 256; ++p) {
    const int block = p / 128 * 4 + p % 64 / 16;
    order[static_cast<size_t>(p)] = static_cast<int16_t>(32 * block + p % 128 / 64 * 16 + p % 16);
  }
  return order;
}

constexpr Order<256> steps_order() {
  Order<256> order{};
  for (int p = 0; p < 256; ++p) {
    order[static_cast<size_t>(p)] = static_cast<int16_t>(p % 64 / 32 * 128 + p / 64 * 32 + p % 32);
  }
  return order;
}

constexpr Order<512> trits_order() {
  Order<512> order{};
  for (int p = 0; p < 512; ++p) {
    order[static_cast<size_t>(p)] = static_cast<int16_t>(p % 64 / 16 * 128 + p / 64 * 16 + p % 16);
  }
  return order;
}

constexpr Order<256> kPairsOrder = pairs_order(), kQuartersOrder = quarters_order(),
                     kStepsOrder = steps_order(), kNibblesOrder = nibbles_order();
constexpr Order<512> kTritsOrder = trits_order();

// 256 values as integers.
struct Rounded {
  int16_t q[kIntChunk];
  float scale;
};

// What a chunk's values are multiplied with to become integers, and back. factor 0: all are 0.
struct Scales {
  float factor, scale;
};

Scales scales_of(uint32_t largest) {
  constexpr float kSmallest = 1e-30f;  // below, 32512 / amax would leave the range of floats
  constexpr uint32_t kInfinity = 0x7f800000u;
  const float amax = std::bit_cast<float>(largest);
  if (largest >= kInfinity) return {0.f, amax};
  if (amax < kSmallest) return {0.f, 0.f};
  return {static_cast<float>(kIntLargest) / amax, amax / static_cast<float>(kIntLargest)};
}

void round_chunk(const float* x, size_t n, Rounded& out) {
  uint32_t largest = 0;  // magnitudes compare as integers, NaNs above infinity
  for (size_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  }
  const Scales scales = scales_of(largest);
  std::fill(out.q, out.q + kIntChunk, int16_t{0});
  out.scale = scales.scale;
  if (scales.factor == 0.f) return;
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits, ties to even.
  constexpr float kMagic = 0x1.8p23f;
  for (size_t i = 0; i < n; ++i) {
    out.q[i] = static_cast<int16_t>(std::bit_cast<int32_t>(x[i] * scales.factor + kMagic) -
                                    std::bit_cast<int32_t>(kMagic));
  }
}

void split(int16_t q, int8_t& hi, int8_t& lo) {
  lo = static_cast<int8_t>(q);
  hi = static_cast<int8_t>((q - lo) >> 8);
}

void lay_out(const Rounded& in, PairsChunk& out) {
  for (size_t p = 0; p < kIntChunk; ++p) out.x[p] = in.q[static_cast<size_t>(kPairsOrder[p])];
  out.scale = in.scale;
}

void lay_out(const Rounded& in, QuartersChunk& out) {
  std::fill(out.offset, out.offset + kIntLanes, 0);
  for (size_t p = 0; p < kIntChunk; ++p) {
    const int16_t q = in.q[static_cast<size_t>(kQuartersOrder[p])];
    split(q, out.hi[p], out.lo[p]);
    out.offset[p % 64 / 4] -= q;
  }
  out.scale = in.scale;
}

// Half a chunk: the other one may be another thread's.
void lay_out(const Rounded& in, size_t half, TritsChunk& out) {
  const size_t lanes = kIntLanes / 2;
  std::fill(out.offset + half * lanes, out.offset + (half + 1) * lanes, 0);
  std::fill(out.scale + half * lanes, out.scale + (half + 1) * lanes, in.scale);
  for (size_t p = 0; p < TritsChunk::kPositions; ++p) {
    if (p % 64 / 32 != half) continue;
    const int16_t q = in.q[static_cast<size_t>(kTritsOrder[p]) % kIntChunk];
    split(q, out.hi[p], out.lo[p]);
    out.offset[p % 64 / 4] -= q;
  }
}

void lay_out(const Rounded& in, NibblesChunk& out) {
  std::fill(out.offset[0], out.offset[0] + 2 * kIntLanes, 0);
  for (size_t p = 0; p < kIntChunk; ++p) {
    const int16_t q = in.q[static_cast<size_t>(kNibblesOrder[p])];
    split(q, out.hi[p], out.lo[p]);
    out.offset[p / 128][p % 64 / 4] -= 12 * q;
  }
  out.scale = in.scale;
}

void lay_out(const Rounded& in, StepsChunk& out) {
  out.offset = 0;
  for (size_t run = 0; run < 16; ++run) {
    int hi_sum = 0, lo_sum = 0;
    for (size_t p = 16 * run; p < 16 * run + 16; ++p) {
      split(in.q[static_cast<size_t>(kStepsOrder[p])], out.hi[p], out.lo[p]);
      hi_sum += out.hi[p];
      lo_sum += out.lo[p];
    }
    const auto part = static_cast<size_t>(kStepsOrder[16 * run]) / 16;
    const size_t at = part / 2 + (part % 2) * 8;
    out.hi_sums[at] = static_cast<int16_t>(-4 * hi_sum);
    out.lo_sums[at] = static_cast<int16_t>(-4 * lo_sum);
    out.offset -= 124 * (256 * hi_sum + lo_sum);
  }
  out.scale = in.scale;
}

size_t chunk_bytes(RowLayout layout) {
  switch (layout) {
    case RowLayout::kNone:
      return 0;
    case RowLayout::kPairs:
      return sizeof(PairsChunk);
    case RowLayout::kQuarters:
      return sizeof(QuartersChunk);
    case RowLayout::kSteps:
      return sizeof(StepsChunk);
    case RowLayout::kTrits:
      return sizeof(TritsChunk);
    case RowLayout::kNibbles:
      return sizeof(NibblesChunk);
  }
  return 0;
}

}  // namespace

RowLayout row_layout(Format f) {
  switch (f) {
    case Format::kQ8_0:
      return RowLayout::kPairs;
    case Format::kQ2_0:
      return RowLayout::kQuarters;
    case Format::kQ3_K:
    case Format::kQ2_K:
      return RowLayout::kSteps;
    case Format::kMXFP4:
      return RowLayout::kNibbles;
    case Format::kPTQ1_0:
      return RowLayout::kTrits;
    default:
      return RowLayout::kNone;
  }
}

const int16_t* chunk_order(RowLayout layout) {
  switch (layout) {
    case RowLayout::kNone:
      return nullptr;
    case RowLayout::kPairs:
      return kPairsOrder.data();
    case RowLayout::kQuarters:
      return kQuartersOrder.data();
    case RowLayout::kSteps:
      return kStepsOrder.data();
    case RowLayout::kTrits:
      return kTritsOrder.data();
    case RowLayout::kNibbles:
      return kNibblesOrder.data();
  }
  return nullptr;
}

size_t chunk_positions(RowLayout layout) {
  return layout == RowLayout::kTrits ? TritsChunk::kPositions : kIntChunk;
}

size_t quantised_row_bytes(RowLayout layout, size_t k) {
  const size_t positions = chunk_positions(layout);
  return (k + positions - 1) / positions * chunk_bytes(layout);
}

namespace {

// Zeros where a row ends in the middle of its last chunk of trits.
void clear_behind(RowLayout layout, size_t k, void* row) {
  const size_t scales = (k + kIntChunk - 1) / kIntChunk;
  if (layout != RowLayout::kTrits || scales % 2 == 0) return;
  lay_out(Rounded{}, 1, static_cast<TritsChunk*>(row)[scales / 2]);
}

}  // namespace

void quantise_row(RowLayout layout, const float* x, size_t k, size_t begin, size_t end, void* row) {
  size_t i = begin;
  if (cpu_features().avx512 && layout != RowLayout::kNone) {
    for (; i + kIntChunk <= end; i += kIntChunk) {
      const Scales scales = scales_of(chunk_magnitude_avx512(x + i));
      if (scales.factor == 0.f) {
        quantise_row_portable(layout, x, k, i, i + kIntChunk, row);
      } else {
        round_chunk_avx512(layout, x + i, scales.factor, scales.scale, i / kIntChunk, row);
      }
    }
  }
  if (i < end) return quantise_row_portable(layout, x, k, i, end, row);
  if (end == k) clear_behind(layout, k, row);
}

void quantise_row_portable(RowLayout layout, const float* x, size_t k, size_t begin, size_t end,
                           void* row) {
  ROTA_CHECK(begin % kIntChunk == 0 && (end % kIntChunk == 0 || end == k), "values", begin, end, k);
  Rounded rounded;
  for (size_t i = begin; i < end; i += kIntChunk) {
    round_chunk(x + i, std::min(kIntChunk, k - i), rounded);
    const size_t c = i / kIntChunk;
    switch (layout) {
      case RowLayout::kNone:
        ROTA_CHECK(false, "no layout");
        break;
      case RowLayout::kPairs:
        lay_out(rounded, static_cast<PairsChunk*>(row)[c]);
        break;
      case RowLayout::kQuarters:
        lay_out(rounded, static_cast<QuartersChunk*>(row)[c]);
        break;
      case RowLayout::kSteps:
        lay_out(rounded, static_cast<StepsChunk*>(row)[c]);
        break;
      case RowLayout::kTrits:
        lay_out(rounded, c % 2, static_cast<TritsChunk*>(row)[c / 2]);
        break;
      case RowLayout::kNibbles:
        lay_out(rounded, static_cast<NibblesChunk*>(row)[c]);
        break;
    }
  }
  if (end == k) clear_behind(layout, k, row);
}

}  // namespace rota
