// The main of test binaries that need a GPU. Without one they are waived, which is said and is no
// pass: ROTA_NEEDS_GPU=1 makes it a failure.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "device/cuda/cuda_stream.cuh"

int main(int argc, char** argv) {
  if (const auto stream = rota::CudaStream::open(0); !stream.ok()) {
    std::printf("waived: %s\n", stream.status().message().c_str());
    const char* needed = std::getenv("ROTA_NEEDS_GPU");
    return needed != nullptr && std::string_view(needed) == "1" ? 1 : 0;
  }
  doctest::Context context(argc, argv);
  return context.run();
}
