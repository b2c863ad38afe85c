#include "bench/device_kernels.h"

#include <doctest/doctest.h>

#include "bench/commands.h"
#include "device/cuda/cuda_device.h"

namespace rota {
namespace {

Status kernels(std::vector<const char*> words) { return kernels_command(words); }

TEST_CASE("rota-bench kernels: a device that is none, and choices that are the CPU's") {
  CHECK(kernels({"--device", "gpu"}).message() == "--device: \"gpu\" is unknown: host or cuda:N");
  CHECK(kernels({"--device", "cuda:x"}).code() == Code::kUsage);
  CHECK(kernels({"--device", "cuda:0", "--variants", "avx2"}).message() ==
        "--variants are the CPU's: they are no choice of --device cuda:N");
  CHECK(kernels({"--device", "cuda:0", "--formats", "I32"}).message() == "I32 is no weight format");
}

TEST_CASE("rota-bench kernels: a GPU that is not there is refused in one line") {
  const Status status = kernels({"--device", "cuda:1000"});
  CHECK(status.code() == Code::kLoad);
  CHECK(status.message().find("no CUDA device: ") == 0);
  CHECK(status.message() == make_cuda_device(1000).status().message());
}

}  // namespace
}  // namespace rota
