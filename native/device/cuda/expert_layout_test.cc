#include "device/cuda/expert_layout.cuh"

#include <doctest/doctest.h>

#include <vector>

#include "device/cuda/cuda_stream.cuh"
#include "formats/random_blocks.h"

namespace rota {
namespace {

constexpr Format kLaidOut[] = {Format::kPTQ1_0, Format::kQ2_0, Format::kQ3_K,
                               Format::kMXFP4,  Format::kQ8_0, Format::kQ2_K};

TEST_CASE("a matrix that is laid out and taken out again has its bytes") {
  auto opened = CudaStream::open(0);
  REQUIRE(opened.ok());
  CudaStream& stream = *opened.value();
  for (const Format f : kLaidOut) {
    for (const int in : {256, 512, 5120}) {
      CAPTURE(format_info(f).name);
      CAPTURE(in);
      std::vector<uint8_t> bytes(row_bytes(f, static_cast<uint64_t>(in)).value() * 48);
      random_blocks(f, 1, bytes.data(), bytes.size());
      auto memory = stream.allocate(bytes.size(), "a matrix");
      REQUIRE(memory.ok());
      const BlobMatrix matrix{f, static_cast<uint8_t*>(memory.value()), 48, in};
      CHECK(is_laid_out(f, 48, in));
      std::vector<uint8_t> now(bytes.size());
      const auto read = [&] {
        cudaMemcpyAsync(now.data(), matrix.data, now.size(), cudaMemcpyDeviceToHost, stream.use());
        REQUIRE(stream.wait().ok());
      };
      cudaMemcpyAsync(matrix.data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice,
                      stream.use());
      CHECK(lay_out(stream.use(), matrix) == cudaSuccess);
      read();
      CHECK(now != bytes);
      CHECK(take_out(stream.use(), matrix) == cudaSuccess);
      read();
      CHECK(now == bytes);
      stream.release(memory.value());
    }
  }
}

TEST_CASE(
    "what is not laid out: other formats, rows that are no chunks, outputs that are no strips") {
  CHECK(!is_laid_out(Format::kF16, 32, 256));
  CHECK(!is_laid_out(Format::kQ2_0, 32, 320));
  CHECK(!is_laid_out(Format::kQ2_0, 24, 256));
  CHECK(!is_laid_out(Format::kQ8_0, 32, 6144));  // more than a block's shared memory
}

}  // namespace
}  // namespace rota
