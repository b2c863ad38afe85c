// Bringing what is not there yet.
#include "model/host_rows.h"

#include "base/check.h"

namespace rota {

const float* HostRows::read(int first, int count) const {
  const auto begin = static_cast<size_t>(first), end = begin + static_cast<size_t>(count);
  ROTA_CHECK(end <= there_.size(), "row", first, "of", there_.size());
  if (device_->in_host_memory()) return at_.address() + begin * width_;
  for (size_t row = begin; row < end; ++row) {
    if (there_[row] != 0) continue;
    device_->download(&values_[row * width_], at_.address() + row * width_, width_ * sizeof(float));
    there_[row] = 1;
  }
  return values_.data() + begin * width_;
}

}  // namespace rota
