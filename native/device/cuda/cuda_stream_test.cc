#include "device/cuda/cuda_stream.cuh"

#include <doctest/doctest.h>

#include <vector>

namespace rota {
namespace {

TEST_CASE("memory is zeroed, and given back") {
  auto stream = CudaStream::open(0);
  REQUIRE(stream.ok());
  for (int round = 0; round < 2; ++round) {
    const auto memory = (*stream)->allocate(1000, "test");
    REQUIRE(memory.ok());
    std::vector<unsigned char> host(1000, 7);
    CUDA_CHECK(**stream, cudaMemcpyAsync(host.data(), memory.value(), 1000, cudaMemcpyDeviceToHost,
                                         (*stream)->use()));
    REQUIRE((*stream)->wait().ok());
    CHECK(host == std::vector<unsigned char>(1000, 0));
    // The next round would find these, were memory not zeroed.
    cudaMemsetAsync(memory.value(), 9, 1000, (*stream)->use());
    (*stream)->release(memory.value());
  }
  CHECK((*stream)->status().ok());
}

TEST_CASE("memory that there is not is refused with the sizes, and the stream lives") {
  auto stream = CudaStream::open(0);
  REQUIRE(stream.ok());
  const auto huge = (*stream)->allocate(size_t{1} << 50, "a petabyte");
  REQUIRE(!huge.ok());
  CHECK(huge.status().code() == Code::kOutOfMemory);
  const std::string& text = huge.status().message();
  CHECK(text.find("a petabyte: cannot allocate 1125899906842624 bytes") == 0);
  CHECK(text.find("bytes free") != std::string::npos);
  CHECK((*stream)->status().ok());
  const auto small = (*stream)->allocate(64, "test");
  REQUIRE(small.ok());
  (*stream)->release(small.value());
}

TEST_CASE("a device that is not there is refused by its number") {
  for (const int index : {-1, 99}) {
    const auto stream = CudaStream::open(index);
    REQUIRE(!stream.ok());
    CHECK(stream.status().code() == Code::kLoad);
    CHECK(stream.status().message().find("no CUDA device: cuda:" + std::to_string(index) +
                                         " is not there") == 0);
  }
}

TEST_CASE("the first failure stays, with its expression, name, text and device") {
  auto stream = CudaStream::open(0);
  REQUIRE(stream.ok());
  CHECK_FALSE(CUDA_CHECK(**stream, cudaErrorInvalidValue));
  CHECK_FALSE(CUDA_CHECK(**stream, cudaErrorNotReady));
  CHECK((*stream)->status().message() ==
        "cudaErrorInvalidValue on cuda:0: cudaErrorInvalidValue: invalid argument");
  CHECK_FALSE((*stream)->allocate(64, "test").ok());
}

}  // namespace
}  // namespace rota
