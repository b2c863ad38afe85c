// Grid, least squares, and Q3_K's two levels.
#include "quantise/scales.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "formats/numbers.h"
#include "formats/quants.h"
#include "quantise/group_fit.h"

namespace rota {
namespace {

constexpr int kGrid = 12;            // steps tried for each sign
constexpr int kRefinements = 2;      // rounds of least squares
constexpr float kLargest = 65504.f;  // of fp16

float largest_magnitude(const WeightGroup& g) {
  float amax = 0;
  for (size_t i = 0; i < g.n; ++i) amax = std::max(amax, std::fabs(g.w[i]));
  return amax;
}

// The best step found, not yet rounded to what a format holds. `from` and `to` are multiples of the
// step that maps the largest weight to the farthest code.
float search_step(const WeightGroup& g, float from, float to) {
  const float reach = std::max(-g.low, g.high), unit = largest_magnitude(g) / reach;
  if (unit == 0) return 0;
  float best = 0, least = group_fit(g, 0).error;
  for (const float sign : {1.0f, -1.0f}) {
    if (sign < 0 && g.low == -g.high) continue;
    for (int i = 0; i < kGrid; ++i) {
      float step = sign * unit * (from + (to - from) * static_cast<float>(i) / (kGrid - 1));
      for (int round = 0; round <= kRefinements; ++round) {
        const GroupFit fit = group_fit(g, step);
        if (fit.error < least) {
          least = fit.error;
          best = step;
        } else if (round > 0 || fit.error > 1.5f * least) {
          break;  // least squares is for candidates that are near the best one
        }
        if (fit.qq <= 0) break;
        step = fit.wq / fit.qq;
      }
    }
  }
  return best;
}

uint16_t stored(float scale) { return float_to_fp16(std::clamp(scale, -kLargest, kLargest)); }

// Q3_K: sixteen steps, each a whole number -32 .. 31 of one fp16 scale.
class SuperBlock {
 public:
  static constexpr size_t kGroups = 16, kWidth = 16;

  SuperBlock(const float* w, const float* importance, const CodeRule& rule) {
    for (size_t k = 0; k < kGroups; ++k) {
      groups_[k] = {w + k * kWidth, importance + k * kWidth, kWidth, static_cast<float>(rule.low),
                    static_cast<float>(rule.high)};
      ideal_[k] = search_step(groups_[k], 0.6f, 1.4f);
    }
  }

  void search(uint16_t* d, int8_t* sub) {
    float extreme = 0;
    for (const float step : ideal_) {
      if (std::fabs(step) > std::fabs(extreme)) extreme = step;
    }
    *d = 0;
    std::fill_n(sub, kGroups, int8_t{0});
    double least = choose(0, sub);
    for (const int most : {-32, -29, 31, 28}) {
      int8_t tried[kGroups];
      uint16_t bits = stored(extreme / static_cast<float>(most));
      double error = choose(fp16_to_float(bits), tried);
      for (int round = 0;; ++round) {
        if (error < least) {
          least = error;
          *d = bits;
          std::copy_n(tried, kGroups, sub);
        }
        if (round == kRefinements) break;
        bits = least_squares(fp16_to_float(bits), tried);
        error = choose(fp16_to_float(bits), tried);
      }
    }
  }

 private:
  float error(size_t k, float step) const { return group_fit(groups_[k], step).error; }

  // The best whole number of d near each ideal step; returns the sum of errors.
  double choose(float d, int8_t* sub) const {
    double sum = 0;
    for (size_t k = 0; k < kGroups; ++k) {
      const float ratio = d == 0 ? 0 : ideal_[k] / d;
      const int near = static_cast<int>(rounded_to_whole(std::clamp(ratio, -32.f, 31.f)));
      float least = INFINITY;
      for (int m = std::max(near - 1, -32); m <= std::min(near + 1, 31); ++m) {
        const float found = error(k, d * static_cast<float>(m));
        if (found >= least) continue;
        least = found;
        sub[k] = static_cast<int8_t>(m);
      }
      sum += least;
    }
    return sum;
  }

  // The scale that is best for the codes which d and sub give.
  uint16_t least_squares(float d, const int8_t* sub) const {
    double wq = 0, qq = 0;
    for (size_t k = 0; k < kGroups; ++k) {
      const GroupFit fit = group_fit(groups_[k], d * static_cast<float>(sub[k]));
      wq += static_cast<double>(fit.wq) * sub[k];
      qq += static_cast<double>(fit.qq) * sub[k] * sub[k];
    }
    return stored(qq > 0 ? static_cast<float>(wq / qq) : d);
  }

  std::array<WeightGroup, kGroups> groups_;
  std::array<float, kGroups> ideal_;
};

template <typename Block>
void pack_plain(const Scales& s, const int8_t* codes, uint8_t* out) {
  for (size_t b = 0; b < s.d.size(); ++b) {
    pack_block(s.d[b], codes + b * Block::kWeights,
               *reinterpret_cast<Block*>(out + b * sizeof(Block)));
  }
}

}  // namespace

const CodeRule& code_rule(Format format) {
  static constexpr CodeRule kTernary = {128, 128, -1, 1}, kTwoBit = {64, 64, -1, 2},
                            kThreeBit = {256, 16, -4, 3};
  switch (format) {
    case Format::kPTQ1_0:
      return kTernary;
    case Format::kQ2_0:
      return kTwoBit;
    default:
      ROTA_CHECK(format == Format::kQ3_K, "no rule of codes for", format_info(format).name);
      return kThreeBit;
  }
}

float Scales::step(size_t row, size_t group) const {
  const CodeRule& rule = code_rule(format);
  const size_t index = row * (columns / rule.group) + group;
  const float scale = fp16_to_float(d[index * rule.group / rule.block]);
  return sub.empty() ? scale : scale * static_cast<float>(sub[index]);
}

int8_t nearest_code(float value, float step, const CodeRule& rule) {
  if (step == 0) return 0;
  return static_cast<int8_t>(
      nearest_whole(value / step, static_cast<float>(rule.low), static_cast<float>(rule.high)));
}

Scales search_scales(Format format, const float* w, size_t rows, size_t columns,
                     const float* importance) {
  const CodeRule& rule = code_rule(format);
  ROTA_CHECK(columns % rule.block == 0, "rows of", columns, "in blocks of", rule.block);
  Scales s{format, rows, columns, {}, {}};
  s.d.resize(rows * columns / rule.block);
  if (rule.group != rule.block) s.sub.resize(rows * columns / rule.group);
  for (size_t b = 0; b < s.d.size(); ++b) {
    const size_t first = b * rule.block;
    const float* weights = w + first;
    const float* costs = importance + first % columns;
    if (!s.sub.empty()) {
      SuperBlock(weights, costs, rule).search(&s.d[b], &s.sub[first / rule.group]);
      continue;
    }
    const WeightGroup group = {weights, costs, rule.block, static_cast<float>(rule.low),
                               static_cast<float>(rule.high)};
    // Ternary steps lie below the largest weight; with a lone code 2 they may reach it.
    s.d[b] = stored(format == Format::kQ2_0 ? search_step(group, 0.5f, 2.0f)
                                            : search_step(group, 0.2f, 1.0f));
  }
  return s;
}

std::vector<int8_t> nearest_codes(const float* w, const Scales& s) {
  const CodeRule& rule = code_rule(s.format);
  std::vector<int8_t> codes(s.rows * s.columns);
  for (size_t i = 0; i < codes.size(); i += rule.group) {
    const float step = s.step(i / s.columns, i % s.columns / rule.group);
    for (size_t k = i; k < i + rule.group; ++k) codes[k] = nearest_code(w[k], step, rule);
  }
  return codes;
}

std::vector<uint8_t> pack_rows(const Scales& s, const std::vector<int8_t>& codes) {
  const auto bytes = row_bytes(s.format, s.columns);
  ROTA_CHECK(bytes.ok(), bytes.status().message());
  std::vector<uint8_t> out(s.rows * bytes.value());
  switch (s.format) {
    case Format::kPTQ1_0:
      pack_plain<BlockPTQ1_0>(s, codes.data(), out.data());
      break;
    case Format::kQ2_0:
      pack_plain<BlockQ2_0>(s, codes.data(), out.data());
      break;
    default:
      for (size_t b = 0; b < s.d.size(); ++b) {
        pack_block(s.d[b], &s.sub[16 * b], codes.data() + b * BlockQ3_K::kWeights,
                   *reinterpret_cast<BlockQ3_K*>(out.data() + b * sizeof(BlockQ3_K)));
      }
  }
  return out;
}

}  // namespace rota
