// For the GPU's tests: one operation on the host and on the GPU with the same values, and the judge
// of the two answers. Not part of the library's doors.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/host/host_device.h"
#include "device/host/test_values.h"

namespace rota {

// Opened once for the process.
inline Device& gpu_device() {
  static const std::unique_ptr<Device> device = [] {
    auto made = make_cuda_device(0);
    REQUIRE_MESSAGE(made.ok(), made.status().message());
    return std::move(made).value();
  }();
  return *device;
}
inline Device& host_device() {
  static const std::unique_ptr<Device> device = make_host_device(nullptr);
  return *device;
}

// Memory of one test on one device.
class OnDevice {
 public:
  explicit OnDevice(Device& d) : device(d) {}
  ~OnDevice() {
    for (void* address : addresses_) device.release(address);
    CHECK_MESSAGE(device.status().ok(), device.status().message());
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  template <typename T>
  DevPtr<T> room(size_t n) {
    auto memory = device.allocate(n * sizeof(T), "test");
    REQUIRE(memory.ok());
    addresses_.push_back(memory.value());
    return DevPtr<T>(static_cast<T*>(memory.value()));
  }
  template <typename T>
  DevPtr<T> put(const std::vector<T>& values) {
    const DevPtr<T> at = room<T>(values.size());
    device.upload(at.address(), values.data(), values.size() * sizeof(T));
    return at;
  }
  template <typename T>
  std::vector<T> get(DevPtr<T> at, size_t n) {
    std::vector<T> values(n);
    device.download(values.data(), at.address(), n * sizeof(T));
    return values;
  }
  Matrix matrix(Format format, int out, int in, const std::vector<uint8_t>& bytes) {
    return {format, out, in, put(bytes), bytes.size()};
  }

  Device& device;

 private:
  std::vector<void*> addresses_;
};

template <typename Fn>
auto on_gpu(const Fn& fn) {
  OnDevice on(gpu_device());
  return fn(on);
}
template <typename Fn>
auto on_host(const Fn& fn) {
  OnDevice on(host_device());
  return fn(on);
}

template <typename T>
bool equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// One rounding of fp32 is at most this share of a value.
constexpr double kRounding = 0x1p-24;

// Every difference is within its tolerance; prints the largest share of one that was taken.
inline void check_within(const std::string& what, const std::vector<float>& got,
                         const std::vector<float>& expected, const std::vector<double>& tolerance) {
  REQUIRE(got.size() == expected.size());
  REQUIRE(got.size() == tolerance.size());
  double worst = 0, difference = 0, allowed = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double off = std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    const double share = off == 0 ? 0 : off / tolerance[i];
    if (std::isnan(got[i]) || share > worst) {
      worst = std::isnan(got[i]) ? INFINITY : share, difference = off, allowed = tolerance[i];
    }
  }
  std::printf("  %-44s off by %.2e of %.2e allowed (%.3f)\n", what.c_str(), difference, allowed,
              worst);
  CHECK_MESSAGE(worst <= 1, what, ": off by ", difference, ", allowed ", allowed);
}

// Values of magnitude up to `size` that are off by `roundings` at most.
inline void check_near(const std::string& what, const std::vector<float>& got,
                       const std::vector<float>& expected, double size, double roundings) {
  check_within(what, got, expected,
               std::vector<double>(expected.size(), size * roundings * kRounding));
}

}  // namespace rota
