// Test material: experts in memory with seeded weights, a reader that can be slow or fail, and the
// plain float formula.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "experts/blob.h"
#include "experts/expert_pool.h"

namespace rota {

inline float seeded_float(uint64_t key) {
  return static_cast<float>(unit_double(splitmix64(key)) * 2 - 1);
}

// How far the pool's answer may be from the formula's, relative to the largest output, where both
// dot products have k terms. fp32 rounds each term by 2^-24. An integer kernel's activations are
// moved by at most half a step, 1/32512 of the largest of 256; independently and evenly, so a
// step/sqrt(12) on average. The largest of 256 is at most 8 times their root mean square. Of some
// thousand outputs the unluckiest is off by 4.5 times the average, and the largest is at least
// twice the average.
inline float pool_tolerance(Format f, int k) {
  const float sums = 2 * static_cast<float>(k) * 0x1p-24f;
  if (row_layout(f) == RowLayout::kNone) return sums;
  const float moved = 8.f / static_cast<float>(kIntLargest) / std::sqrt(12.f);
  return sums + moved * std::sqrt(2.f) * 4.5f / 2;
}

class FakeBlobs : public BlobSource {
 public:
  // The format of (layer, expert) is formats[(layer + expert) % formats.size()].
  FakeBlobs(int layers, int experts, int dim, int moe_inter, std::vector<Format> formats)
      : layers_(layers), experts_(experts), dim_(dim), inter_(moe_inter) {
    for (int l = 0; l < layers; ++l) {
      for (int e = 0; e < experts; ++e) {
        const Format f = formats[static_cast<size_t>(l + e) % formats.size()];
        layouts_.push_back(blob_layout(f, f, f, dim, moe_inter).value());
        data_.push_back(make(layouts_.back(), static_cast<uint64_t>(l * experts + e)));
      }
    }
  }
  int layers() const override { return layers_; }
  int experts() const override { return experts_; }
  const BlobLayout& layout(int layer, int expert) const override {
    return layouts_[static_cast<size_t>(layer * experts_ + expert)];
  }
  Status prepare_thread() const override {
    if (prepared++ == refused_thread) return Status(Code::kOutOfMemory, "no room for a thread");
    return Status();
  }
  Status read(int layer, int expert, uint64_t offset, uint64_t bytes, uint8_t* dst) const override {
    ++reads;
    if (delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
    if (layer * experts_ + expert == fail_id) return Status(Code::kIo, "disk on fire");
    std::memcpy(dst, data_[static_cast<size_t>(layer * experts_ + expert)].data() + offset, bytes);
    return Status();
  }

  const uint8_t* in_place(int layer, int expert) const override {
    return data_[static_cast<size_t>(layer * experts_ + expert)].data();
  }

  // What the contract says, decoded and summed without any kernel.
  std::vector<float> reference(int layer, int rows, int top_k, const std::vector<int>& ids,
                               const std::vector<float>& weights, const std::vector<float>& x,
                               float limit) const {
    std::vector<float> y(static_cast<size_t>(rows * dim_), 0.0f);
    for (int p = 0; p < rows * top_k; ++p) {
      const int e = ids[static_cast<size_t>(p)];
      const BlobLayout& at = layout(layer, e);
      const uint8_t* blob = data_[static_cast<size_t>(layer * experts_ + e)].data();
      const float* row = x.data() + p / top_k * dim_;
      std::vector<float> hidden(static_cast<size_t>(inter_));
      for (int i = 0; i < inter_; ++i) {
        const float g = std::min(dot(at.gate, blob, i, dim_, row), limit);
        const float u = dot(at.up, blob + at.up_offset, i, dim_, row);
        hidden[static_cast<size_t>(i)] = weights[static_cast<size_t>(p)] * g / (1 + std::exp(-g)) *
                                         std::fmax(-limit, std::fmin(u, limit));
      }
      for (int o = 0; o < dim_; ++o) {
        y[static_cast<size_t>(p / top_k * dim_ + o)] +=
            dot(at.down, blob + at.down_offset, o, inter_, hidden.data());
      }
    }
    return y;
  }

  mutable std::atomic<int> reads{0}, prepared{0};
  int refused_thread = -1;
  std::atomic<int> delay_us{0};
  std::atomic<int> fail_id{-1};

 private:
  static float dot(Format f, const uint8_t* matrix, int row, int k, const float* x) {
    std::vector<float> w(static_cast<size_t>(k));
    const size_t bytes = row_bytes(f, static_cast<uint64_t>(k)).value();
    decode_row(f, matrix + bytes * static_cast<size_t>(row), w.data(), w.size());
    double sum = 0;
    for (int i = 0; i < k; ++i) {
      sum += static_cast<double>(w[static_cast<size_t>(i)]) * static_cast<double>(x[i]);
    }
    return static_cast<float>(sum);
  }
  std::vector<uint8_t> make(const BlobLayout& at, uint64_t seed) const {
    std::vector<uint8_t> blob(at.bytes);
    encode(at.gate, blob.data(), inter_, dim_, seed * 3);
    encode(at.up, blob.data() + at.up_offset, inter_, dim_, seed * 3 + 1);
    encode(at.down, blob.data() + at.down_offset, dim_, inter_, seed * 3 + 2);
    return blob;
  }
  static void encode(Format f, uint8_t* out, int rows, int k, uint64_t seed) {
    std::vector<float> row(static_cast<size_t>(k));
    const size_t bytes = row_bytes(f, static_cast<uint64_t>(k)).value();
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < k; ++i) {
        row[static_cast<size_t>(i)] = seeded_float((seed << 32) + static_cast<uint64_t>(r * k + i));
      }
      encode_row(f, row.data(), out + bytes * static_cast<size_t>(r), row.size());
    }
  }

  int layers_, experts_, dim_, inter_;
  std::vector<BlobLayout> layouts_;
  std::vector<std::vector<uint8_t>> data_;
};

// A seeded router answer: distinct experts a row, weights that sum to 1.5.
struct FakeCall {
  int rows, top_k;
  std::vector<int> ids;
  std::vector<float> weights, x;

  FakeCall(int rows_, int top_k_, int experts, int dim, uint64_t seed)
      : rows(rows_), top_k(top_k_) {
    for (int r = 0; r < rows; ++r) {
      const auto start = splitmix64(seed * 1000 + static_cast<uint64_t>(r));
      for (int k = 0; k < top_k; ++k) {
        // Skewed towards low ids, distinct within the row.
        int e = static_cast<int>(splitmix64(start + static_cast<uint64_t>(k)) %
                                 static_cast<uint64_t>(experts));
        e = e * e / experts;
        const auto begin = ids.end() - k;
        while (std::find(begin, ids.end(), e) != ids.end()) e = (e + 1) % experts;
        ids.push_back(e);
        weights.push_back(1.5f / static_cast<float>(top_k));
      }
    }
    for (int i = 0; i < rows * dim; ++i) {
      x.push_back(seeded_float(seed * 77777 + static_cast<uint64_t>(i)));
    }
  }
};

}  // namespace rota
