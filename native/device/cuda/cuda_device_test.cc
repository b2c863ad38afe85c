#include "device/cuda/cuda_device.h"

#include <doctest/doctest.h>

#include "device/cuda/both_devices.h"

namespace rota {
namespace {

TEST_CASE("the device says which it is, and that its memory is its own") {
  CHECK(std::string(gpu_device().name()).find("cuda:0 ") == 0);
  CHECK_FALSE(gpu_device().in_host_memory());
  const auto gone = make_cuda_device(77);
  REQUIRE(!gone.ok());
  CHECK(gone.status().code() == Code::kLoad);
  CHECK(gone.status().message().find("no CUDA device: cuda:77 is not there") == 0);
}

TEST_CASE("transfers: what was put there comes back, and the host's memory is free at once") {
  for (const size_t n :
       {size_t{1}, size_t{1000}, size_t{262144}, size_t{262145}, size_t{3000000}}) {
    OnDevice on(gpu_device());
    std::vector<float> values = test_values(1, n);
    const std::vector<float> original = values;
    const DevPtr<float> at = on.put(values), copy = on.room<float>(n);
    std::fill(values.begin(), values.end(), 0.f);
    on.device.upload(copy.address(), values.data(), n * sizeof(float));
    on.device.copy(copy.address(), at.address(), n * sizeof(float));
    CHECK(equal_bits(on.get(copy, n), original));
  }
}

TEST_CASE("transfers: many small uploads keep their order with the operations between them") {
  OnDevice on(gpu_device());
  const size_t n = 50000;
  const DevPtr<float> x = on.room<float>(n), sum = on.room<float>(n);
  std::vector<float> values(n), expected(n, 0.f);
  for (int round = 0; round < 40; ++round) {
    std::fill(values.begin(), values.end(), static_cast<float>(round));
    on.device.upload(x.address(), values.data(), n * sizeof(float));
    on.device.add(x, n, sum);
    for (float& e : expected) e += static_cast<float>(round);
  }
  CHECK(equal_bits(on.get(sum, n), expected));
}

}  // namespace
}  // namespace rota
