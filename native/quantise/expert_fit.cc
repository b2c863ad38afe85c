// Hessians in stretches of tokens, then the formats one after the other.
#include "quantise/expert_fit.h"

#include <algorithm>

#include "quantise/gptq.h"
#include "quantise/product.h"
#include "quantise/scales.h"

namespace rota {
namespace {

constexpr size_t kStretch = 512;  // tokens gathered at once

std::vector<float> weights_of(const std::vector<RoutedToken>& tokens, size_t first, size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = tokens[first + i].weight;
  return out;
}

// Appends a part's rows in the file's format to a blob.
void append(std::vector<uint8_t>& blob, const std::vector<uint8_t>& part) {
  blob.insert(blob.end(), part.begin(), part.end());
}

}  // namespace

ExpertFit::ExpertFit(const ExpertMatrices& matrices, const ExpertShape& shape,
                     const LayerInputs& inputs, int expert)
    : matrices_(matrices), shape_(shape) {
  const ExpertAnswer answer(matrices, shape);
  const std::vector<RoutedToken>& fit = inputs.fit[static_cast<size_t>(expert)];
  const std::vector<RoutedToken>& measured = inputs.measured[static_cast<size_t>(expert)];
  fit_tokens_ = static_cast<uint32_t>(fit.size());
  measured_tokens_ = static_cast<uint32_t>(measured.size());
  std::vector<float> outer(shape.dim * shape.dim, 0.0f), inner(shape.inter * shape.inter, 0.0f);
  for (size_t first = 0; first < fit.size(); first += kStretch) {
    const size_t count = std::min(kStretch, fit.size() - first);
    // An output's error goes with the router's weight, so a token counts by its square.
    add_gram(gathered(inputs, fit, first, count, true).data(), count, shape.dim, outer.data());
    const std::vector<float> middle = answer.middle(gathered(inputs, fit, first, count, false),
                                                    weights_of(fit, first, count).data(), count);
    add_gram(middle.data(), count, shape.inter, inner.data());
  }
  outer_ = inverse_factor(outer.data(), shape.dim);
  inner_ = inverse_factor(inner.data(), shape.inter);
  x_ = gathered(inputs, measured, 0, measured.size(), false);
  weights_ = weights_of(measured, 0, measured.size());
  y_ = answer.down(answer.middle(x_, weights_.data(), measured.size()), measured.size());
  for (const float value : y_) energy_ += static_cast<double>(value) * static_cast<double>(value);
}

std::array<Scales, 3> ExpertFit::scales(Format format) const {
  std::array<Scales, 3> out;
  for (size_t part = 0; part < 3; ++part) {
    const InverseFactor& factor = part == 2 ? inner_ : outer_;
    out[part] = search_scales(format, matrices_[part].data(), shape_.rows(part),
                              shape_.columns(part), factor.importance.data());
  }
  return out;
}

std::vector<uint8_t> ExpertFit::packed(const std::array<Scales, 3>& scales, bool fitted) const {
  std::vector<uint8_t> out;
  for (size_t part = 0; part < 3; ++part) {
    const float* w = matrices_[part].data();
    append(out, pack_rows(scales[part], fitted ? gptq(w, scales[part], part == 2 ? inner_ : outer_)
                                               : nearest_codes(w, scales[part])));
  }
  return out;
}

std::vector<uint8_t> ExpertFit::blob(Format format) const { return packed(scales(format), true); }

std::vector<uint8_t> ExpertFit::plain(Format format) const {
  const FormatInfo& info = format_info(format);
  std::vector<uint8_t> out;
  for (const std::vector<float>& w : matrices_) {
    std::vector<uint8_t> bytes(w.size() / info.block_weights * info.block_bytes);
    encode_row(format, w.data(), bytes.data(), w.size());
    append(out, bytes);
  }
  return out;
}

double ExpertFit::error(const ExpertMatrices& other) const {
  const ExpertAnswer answer(other, shape_);
  const size_t rows = weights_.size();
  const std::vector<float> y = answer.down(answer.middle(x_, weights_.data(), rows), rows);
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double off = static_cast<double>(y[i]) - static_cast<double>(y_[i]);
    sum += off * off;
  }
  return sum;
}

double ExpertFit::weight_error(const ExpertMatrices& other) const {
  double off = 0, size = 0;
  for (size_t part = 0; part < 3; ++part) {
    for (size_t i = 0; i < other[part].size(); ++i) {
      const double w = matrices_[part][i], difference = w - static_cast<double>(other[part][i]);
      off += difference * difference;
      size += w * w;
    }
  }
  return size > 0 ? off / size : 0;
}

ExpertTrials ExpertFit::try_formats() const {
  ExpertTrials trials;
  trials.fit_tokens = fit_tokens_;
  trials.measured_tokens = measured_tokens_;
  trials.energy = energy_;
  for (size_t i = 0; i < kChoices.size(); ++i) {
    const Format format = kChoices[i];
    const auto as_read = [&](const std::vector<uint8_t>& bytes) {
      return blob_expert(format, bytes, shape_);
    };
    const ExpertMatrices rounded = as_read(plain(format));
    const std::array<Scales, 3> searched = scales(format);
    FormatTrial& trial = trials.formats[i];
    trial.weights = weight_error(rounded);
    trial.nearest = error(rounded);
    trial.searched = error(as_read(packed(searched, false)));
    trial.fitted = error(as_read(packed(searched, true)));
  }
  return trials;
}

}  // namespace rota
