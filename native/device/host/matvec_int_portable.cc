// The scalar reference of the integer kernel: a chunk's codes by position, then 16 lanes a row.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "device/host/matvec_activations.h"
#include "device/host/matvec_int_kernels.h"
#include "device/host/matvec_kernels.h"
#include "formats/numbers.h"
#include "formats/quants.h"

namespace rota {
namespace {

constexpr size_t kMostPositions = TritsChunk::kPositions;

// A layout's chunk of weights of one output. A group is a run of positions whose lanes are scaled
// together.
struct Codes {
  int32_t code[kMostPositions];  // by position: from 0 up; Q8_0 signed; Q3_K signed, times its
                                 // sub-block's scale
  int groups;
  float scale[4][kIntLanes];
  int sub_offset[16];  // Q2_K: what a sub-block's weights have less, times offset_scale
  float offset_scale;  // a quarter of it, since sums of activations come times -4
};

struct Values {
  int32_t x[kMostPositions];  // by position
  const int32_t* offset;      // of the lanes of a group, or nullptr
  const StepsChunk* steps;    // or nullptr
  float scale[kIntLanes];
};

template <typename Block>
Block block_at(const uint8_t* chunk, size_t b) {
  Block block;
  std::memcpy(&block, chunk + b * sizeof(Block), sizeof(Block));
  return block;
}

// natural[] by weight.
void place(RowLayout layout, const int* natural, Codes& out) {
  const int16_t* order = chunk_order(layout);
  for (size_t p = 0; p < chunk_positions(layout); ++p) out.code[p] = natural[order[p]];
}

void decode_q8_0(const uint8_t* chunk, int* natural, Codes& out) {
  out.groups = 4;
  for (size_t b = 0; b < 8; ++b) {
    const auto block = block_at<BlockQ8_0>(chunk, b);
    for (size_t i = 0; i < 32; ++i) natural[32 * b + i] = block.q[i];
    float* scale = out.scale[b / 2] + b % 2 * 8;
    for (size_t j = 0; j < 8; ++j) scale[j] = fp16_to_float(block.d);
  }
}

void decode_q2_0(const uint8_t* chunk, int* natural, Codes& out) {
  for (size_t b = 0; b < 4; ++b) {
    const auto block = block_at<BlockQ2_0>(chunk, b);
    for (size_t i = 0; i < 64; ++i) natural[64 * b + i] = block.qs[i / 4] >> (2 * (i % 4)) & 3;
    for (size_t j = 0; j < 4; ++j) out.scale[0][4 * b + j] = fp16_to_float(block.d);
  }
}

void decode_q3_k(const uint8_t* chunk, int* natural, Codes& out) {
  const auto block = block_at<BlockQ3_K>(chunk, 0);
  for (int w = 0; w < 256; ++w) {
    const int half = w / 128, lane = w % 32, step = w % 128 / 32;
    const int low = block.qs[32 * half + lane] >> (2 * step) & 3;
    const int high = block.hmask[lane] >> (4 * half + step) & 1;
    natural[w] = (low + 4 * high - 4) * q3_k_scale(block.scales, w / 16);
  }
  for (float& scale : out.scale[0]) scale = fp16_to_float(block.d);
}

void decode_q2_k(const uint8_t* chunk, int* natural, Codes& out) {
  const auto block = block_at<BlockQ2_K>(chunk, 0);
  for (int w = 0; w < 256; ++w) {
    const int code = block.qs[w / 128 * 32 + w % 32] >> (2 * (w % 128 / 32)) & 3;
    natural[w] = code * (block.scales[w / 16] & 15);
  }
  for (int k = 0; k < 16; ++k) out.sub_offset[k / 2 + k % 2 * 8] = block.scales[k] >> 4;
  out.offset_scale = 0.25f * fp16_to_float(block.dmin);
  for (float& scale : out.scale[0]) scale = fp16_to_float(block.d);
}

void decode_mxfp4(const uint8_t* chunk, int* natural, Codes& out) {
  out.groups = 2;
  for (size_t b = 0; b < 8; ++b) {
    const auto block = block_at<BlockMXFP4>(chunk, b);
    for (size_t i = 0; i < 32; ++i) {
      const auto code = static_cast<uint8_t>(i < 16 ? block.qs[i] & 15 : block.qs[i - 16] >> 4);
      natural[32 * b + i] = static_cast<int>(2 * e2m1_to_float(code)) + 12;
    }
    float* scale = out.scale[b / 4] + b % 4 * 4;
    for (size_t j = 0; j < 4; ++j) scale[j] = 0.5f * e8m0_to_float(block.e);
  }
}

void decode_ptq1_0(const uint8_t* chunk, int* natural, Codes& out) {
  for (size_t b = 0; b < 4; ++b) {
    const auto block = block_at<BlockPTQ1_0>(chunk, b);
    int* to = natural + 128 * b;
    for (int w = 0; w < 80; ++w) to[w] = ptq1_0_trit(block.qs[w % 16], w / 16);
    for (int w = 0; w < 40; ++w) to[80 + w] = ptq1_0_trit(block.qs[16 + w % 8], w / 8);
    for (int w = 0; w < 8; ++w) to[120 + w] = ptq1_0_trit(block.qh[w % 2], w / 2);
    for (size_t j = 0; j < 4; ++j) out.scale[0][4 * b + j] = fp16_to_float(block.d);
  }
}

void decode(Format f, const uint8_t* chunk, Codes& out) {
  int natural[kMostPositions];
  out.groups = 1;
  out.offset_scale = 0;
  switch (f) {
    case Format::kQ8_0:
      decode_q8_0(chunk, natural, out);
      break;
    case Format::kQ2_0:
      decode_q2_0(chunk, natural, out);
      break;
    case Format::kQ3_K:
      decode_q3_k(chunk, natural, out);
      break;
    case Format::kPTQ1_0:
      decode_ptq1_0(chunk, natural, out);
      break;
    case Format::kQ2_K:
      decode_q2_k(chunk, natural, out);
      break;
    case Format::kMXFP4:
      decode_mxfp4(chunk, natural, out);
      break;
    default:
      ROTA_CHECK(false, "no integer kernel for", format_info(f).name);
  }
  place(row_layout(f), natural, out);
}

template <typename Chunk>
void read_split(const Chunk& chunk, Values& out) {
  for (size_t p = 0; p < Chunk::kPositions; ++p) out.x[p] = 256 * chunk.hi[p] + chunk.lo[p];
  if constexpr (std::is_array_v<decltype(chunk.scale)>) {
    std::copy(chunk.scale, chunk.scale + kIntLanes, out.scale);
  } else {
    std::fill(out.scale, out.scale + kIntLanes, chunk.scale);
  }
}

void read(RowLayout layout, const void* row, size_t c, Values& out) {
  out.offset = nullptr;
  out.steps = nullptr;
  if (layout == RowLayout::kPairs) {
    const PairsChunk& chunk = static_cast<const PairsChunk*>(row)[c];
    for (size_t p = 0; p < kIntChunk; ++p) out.x[p] = chunk.x[p];
    std::fill(out.scale, out.scale + kIntLanes, chunk.scale);
  } else if (layout == RowLayout::kQuarters) {
    const QuartersChunk& chunk = static_cast<const QuartersChunk*>(row)[c];
    read_split(chunk, out);
    out.offset = chunk.offset;
  } else if (layout == RowLayout::kTrits) {
    const TritsChunk& chunk = static_cast<const TritsChunk*>(row)[c];
    read_split(chunk, out);
    out.offset = chunk.offset;
  } else if (layout == RowLayout::kNibbles) {
    const NibblesChunk& chunk = static_cast<const NibblesChunk*>(row)[c];
    read_split(chunk, out);
    out.offset = chunk.offset[0];
  } else {
    const StepsChunk& chunk = static_cast<const StepsChunk*>(row)[c];
    read_split(chunk, out);
    out.steps = &chunk;
  }
}

void accumulate(Format format, const Codes& codes, const Values& values, float* acc) {
  const RowLayout layout = row_layout(format);
  const size_t group = chunk_positions(layout) / static_cast<size_t>(codes.groups);
  const size_t run = layout == RowLayout::kPairs ? 32 : 64;  // positions that fill all lanes once
  float t[kIntLanes] = {};
  for (int g = 0; g < codes.groups; ++g) {
    int32_t sums[kIntLanes] = {};
    if (values.offset != nullptr) {
      std::memcpy(sums, values.offset + static_cast<size_t>(g) * kIntLanes, sizeof sums);
    }
    for (size_t p = static_cast<size_t>(g) * group; p < static_cast<size_t>(g + 1) * group; ++p) {
      sums[p % run / (run / kIntLanes)] += codes.code[p] * values.x[p];
    }
    if (layout == RowLayout::kSteps) {  // one scale: the first lane has all
      for (size_t j = 1; j < kIntLanes; ++j) sums[0] += std::exchange(sums[j], 0);
    }
    for (size_t j = 0; j < kIntLanes; ++j) {
      t[j] = std::fma(static_cast<float>(sums[j]), codes.scale[g][j], t[j]);
    }
  }
  if (format == Format::kQ2_K) {
    int32_t less = 0;
    for (size_t i = 0; i < 16; ++i) {
      less += codes.sub_offset[i] * (256 * values.steps->hi_sums[i] + values.steps->lo_sums[i]);
    }
    t[0] = std::fma(static_cast<float>(less), codes.offset_scale, t[0]);
  }
  for (size_t j = 0; j < kIntLanes; ++j) acc[j] = std::fma(t[j], values.scale[j], acc[j]);
}

constexpr size_t kMostChunkBytes = 8 * sizeof(BlockQ8_0);

}  // namespace

void matvec_int_portable(Format f, const void* w, size_t out_begin, size_t out_end, size_t k,
                         const void* const* x, int rows, float* const* y) {
  const RowLayout layout = row_layout(f);
  const FormatInfo& info = format_info(f);
  const size_t positions = chunk_positions(layout);
  const size_t chunk_bytes = positions / info.block_weights * info.block_bytes;
  const size_t bytes = k / info.block_weights * info.block_bytes;
  Codes codes;
  Values values;
  for (size_t o = out_begin; o < out_end; ++o) {
    const uint8_t* row = static_cast<const uint8_t*>(w) + o * bytes;
    for (int first = 0; first < rows; first += kRowTile) {
      const int count = rows - first < kRowTile ? rows - first : kRowTile;
      float acc[kRowTile][kIntLanes] = {};
      for (size_t c = 0; c * positions < k; ++c) {
        uint8_t chunk[kMostChunkBytes] = {};
        const size_t left = bytes - c * chunk_bytes;
        std::memcpy(chunk, row + c * chunk_bytes, left < chunk_bytes ? left : chunk_bytes);
        decode(f, chunk, codes);
        for (int r = 0; r < count; ++r) {
          read(layout, x[first + r], c, values);
          accumulate(f, codes, values, acc[r]);
        }
      }
      for (int r = 0; r < count; ++r) {
        float eight[kLanes];
        for (size_t j = 0; j < kLanes; ++j) eight[j] = acc[r][j] + acc[r][j + kLanes];
        y[first + r][o] = reduce_lanes(eight);
      }
    }
  }
}

}  // namespace rota
