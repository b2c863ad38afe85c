// Column by column over the transposed matrix, so that all rows take each step together; columns
// beyond a band are told of its errors at once.
#include "quantise/gptq.h"

#include <algorithm>

#include "base/check.h"
#include "quantise/product.h"

namespace rota {
namespace {

constexpr size_t kBand = 32;

class Walk {
 public:
  Walk(const float* w, const Scales& scales, const InverseFactor& factor)
      : scales_(scales), factor_(factor), rows_(scales.rows), columns_(scales.columns) {
    transposed_.resize(rows_ * columns_);
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t c = 0; c < columns_; ++c) transposed_[c * rows_ + r] = w[r * columns_ + c];
    }
    minus_errors_.resize(kBand * rows_);
    steps_.resize(rows_);
    codes_.resize(rows_ * columns_);
  }

  std::vector<int8_t> run() {
    for (size_t first = 0; first < columns_; first += kBand) {
      const size_t end = std::min(columns_, first + kBand);
      for (size_t c = first; c < end; ++c) {
        round_column(c, &minus_errors_[(c - first) * rows_]);
        for (size_t k = c + 1; k < end; ++k) carry_into(k, c, &minus_errors_[(c - first) * rows_]);
      }
      add_product(columns_ - end, rows_, end - first,
                  {factor_.carry.data() + first * columns_ + end, 1, columns_},
                  minus_errors_.data(), rows_, transposed_.data() + end * rows_, rows_);
    }
    return std::move(codes_);
  }

 private:
  void round_column(size_t column, float* minus_error) {
    const CodeRule& rule = code_rule(scales_.format);
    if (column % rule.group == 0) {
      for (size_t r = 0; r < rows_; ++r) steps_[r] = scales_.step(r, column / rule.group);
    }
    const float* w = &transposed_[column * rows_];
    for (size_t r = 0; r < rows_; ++r) {
      const int8_t code = nearest_code(w[r], steps_[r], rule);
      codes_[r * columns_ + column] = code;
      minus_error[r] = steps_[r] * static_cast<float>(code) - w[r];
    }
  }

  void carry_into(size_t to, size_t from, const float* minus_error) {
    const float factor = factor_.carry[from * columns_ + to];
    float* w = &transposed_[to * rows_];
    for (size_t r = 0; r < rows_; ++r) w[r] += factor * minus_error[r];
  }

  const Scales& scales_;
  const InverseFactor& factor_;
  const size_t rows_, columns_;
  std::vector<float> transposed_, minus_errors_, steps_;
  std::vector<int8_t> codes_;
};

}  // namespace

std::vector<int8_t> gptq(const float* w, const Scales& scales, const InverseFactor& factor) {
  ROTA_CHECK(factor.n == scales.columns, "a Hessian of", factor.n, "columns for", scales.columns);
  return Walk(w, scales, factor).run();
}

}  // namespace rota
