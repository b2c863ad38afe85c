// An address on the device. Only a Device may dereference it; the host reads through download().
#pragma once

#include <cstddef>
#include <type_traits>

namespace rota {

template <typename T>
class DevPtr {
 public:
  DevPtr() = default;
  explicit DevPtr(T* address) : address_(address) {}
  template <typename U>
    requires std::is_convertible_v<U*, T*>
  DevPtr(DevPtr<U> other) : address_(other.address()) {}  // NOLINT: adding const is implicit
  T* address() const { return address_; }
  DevPtr operator+(size_t elements) const { return DevPtr(address_ + elements); }
  explicit operator bool() const { return address_ != nullptr; }

 private:
  T* address_ = nullptr;
};

}  // namespace rota
