// The device probe's rules: rates are rates, and a copy within a GPU's memory is faster than the
// way to it.
#include "probe/cuda/device_probe.h"

#include <doctest/doctest.h>

namespace rota {
namespace {

TEST_CASE("a GPU's own copy and what reaches it from the host") {
  const auto probe = probe_device(0);
  REQUIRE(probe.ok());
  CHECK(probe.value().device.rfind("cuda:0 ", 0) == 0);
  CHECK(probe.value().from_host_bytes_per_s > 1e8);
  CHECK(probe.value().copy_bytes_per_s > probe.value().from_host_bytes_per_s);
}

}  // namespace
}  // namespace rota
