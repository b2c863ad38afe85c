// Rows of floats on the device that the host asks for now and then: each is brought when it is
// first read. Owns the host's copy, which a device in host memory does without.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/device.h"

namespace rota {

class HostRows {
 public:
  // May throw std::bad_alloc.
  void resize(Device& device, int rows, int width) {
    device_ = &device;
    width_ = static_cast<size_t>(width);
    there_.assign(static_cast<size_t>(rows), 0);
    if (!device.in_host_memory()) values_.resize(there_.size() * width_);
  }
  // New ones stand at [any rows, width] there: what the host has is of the last ones.
  void stand_at(DevPtr<const float> rows) {
    at_ = rows;
    std::fill(there_.begin(), there_.end(), 0);
  }
  // [count, width] from row `first` on; until stand_at().
  const float* read(int first, int count) const;

 private:
  Device* device_ = nullptr;
  size_t width_ = 0;
  DevPtr<const float> at_;
  mutable std::vector<uint8_t> there_;
  mutable std::vector<float> values_;
};

}  // namespace rota
