// An address on the device. Only a Device may dereference it; the host reads through download().
// constexpr, so that device code may ask for it too.
#pragma once

#include <cstddef>
#include <type_traits>

namespace rota {

template <typename T>
class DevPtr {
 public:
  constexpr DevPtr() = default;
  constexpr explicit DevPtr(T* address) : address_(address) {}
  template <typename U>
    requires std::is_convertible_v<U*, T*>
  constexpr DevPtr(DevPtr<U> other)
      : address_(other.address()) {}  // NOLINT: adding const is implicit
  constexpr T* address() const { return address_; }
  constexpr DevPtr operator+(size_t elements) const { return DevPtr(address_ + elements); }
  constexpr explicit operator bool() const { return address_ != nullptr; }

 private:
  T* address_ = nullptr;
};

}  // namespace rota
