// Everything the model holds on its device, released together. Owns allocations and their byte
// count; knows no content.
#pragma once

#include <vector>

#include "device/device.h"

namespace rota {

class DeviceMemory {
 public:
  explicit DeviceMemory(Device& device) : device_(&device) {}
  // Takes nothing and gives null: counts what would be taken, so that a size is known beforehand by
  // the code that will take it.
  DeviceMemory() = default;
  ~DeviceMemory() {
    for (void* address : addresses_) device_->release(address);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Zeroed. The first failure is kept and later calls give null: check status() once after a group
  // of allocations.
  template <typename T>
  DevPtr<T> take(size_t elements, const char* what) {
    if (!status_.ok()) return {};
    if (device_ == nullptr) {
      bytes_ += elements * sizeof(T);
      return {};
    }
    Result<void*> memory = device_->allocate(elements * sizeof(T), what);
    if (!memory.ok()) {
      status_ = memory.status();
      return {};
    }
    addresses_.push_back(memory.value());
    bytes_ += elements * sizeof(T);
    return DevPtr<T>(static_cast<T*>(memory.value()));
  }

  // A copy of host memory.
  template <typename T>
  DevPtr<const T> take_copy(const T* host, size_t elements, const char* what) {
    const DevPtr<T> out = take<T>(elements, what);
    if (out) device_->upload(out.address(), host, elements * sizeof(T));
    return out;
  }

  // A copy of a matrix's blocks, in the device's own layout.
  Matrix take_matrix(Format format, int out, int in, const uint8_t* host, size_t bytes,
                     const char* what) {
    Matrix w{format, out, in, take_copy(host, bytes, what), bytes};
    if (w.data) device_->lay_out(w);
    return w;
  }

  const Status& status() const { return status_; }
  size_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  std::vector<void*> addresses_;
  size_t bytes_ = 0;
  Status status_;
};

}  // namespace rota
