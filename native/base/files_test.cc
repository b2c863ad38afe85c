// Files: maps and direct reads give the bytes of the file, at any span, and say what went wrong
// where.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/direct_file.h"
#include "base/mmap_file.h"
#include "base/rng.h"
#include "base/temp_dir.h"

namespace rota {
namespace {

std::string noise(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(splitmix64(i) & 255);
  return text;
}

TEST_CASE("a map shows the file and its size") {
  const TempDir dir;
  const std::string bytes = noise(10001);
  auto file = MmapFile::open(dir.write("a.bin", bytes));
  REQUIRE(file.ok());
  CHECK(file->size() == bytes.size());
  CHECK(std::memcmp(file->data(), bytes.data(), bytes.size()) == 0);
  MmapFile moved = std::move(file.value());
  CHECK(moved.data()[5] == static_cast<uint8_t>(bytes[5]));
}

TEST_CASE("a map names path and reason") {
  const TempDir dir;
  const auto missing = MmapFile::open(dir / "none");
  CHECK(missing.status().code() == Code::kLoad);
  CHECK(missing.status().message() == (dir / "none") + ": cannot open: No such file or directory");
  CHECK(MmapFile::open(dir.write("empty", "")).status().message() ==
        (dir / "empty") + ": the file is empty");
  CHECK(MmapFile::open(dir / "").status().message() == (dir / "") + ": not a regular file");
}

void check_all_spans(const std::string& path, const std::string& bytes) {
  const auto file = DirectFile::open(path);
  REQUIRE(file.ok());
  CHECK(file.value().size() == bytes.size());
  auto in_place = AlignedBuffer::allocate(DirectFile::in_place_capacity(bytes.size()), 4096);
  REQUIRE(in_place.ok());
  int wrong = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    const uint64_t offset = splitmix64(2 * i) % (bytes.size() + 1);
    const size_t length = splitmix64(2 * i + 1) % (bytes.size() - offset + 1);
    std::string out(length, 'x');
    wrong += !file.value().read(offset, length, out.data()).ok();
    wrong += out != bytes.substr(offset, length);
    const auto pointer = file.value().read_in_place(offset, length, in_place->data());
    wrong += !pointer.ok() || std::memcmp(pointer.value(), bytes.data() + offset, length) != 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("direct reads of any span, also across the bounce buffer's end") {
  const TempDir dir;
  for (const size_t size :
       {size_t{1}, size_t{4095}, size_t{4096}, size_t{10001}, size_t{2500001}}) {
    const std::string bytes = noise(size);
    check_all_spans(dir.write("span.bin", bytes), bytes);
  }
}

TEST_CASE("direct reads refuse a span past the end and say where") {
  const TempDir dir;
  const std::string path = dir.write("short.bin", noise(5000));
  const auto file = DirectFile::open(path);
  REQUIRE(file.ok());
  std::string out(2000, '\0');
  const Status status = file.value().read(4000, 2000, out.data());
  CHECK(status.code() == Code::kIo);
  CHECK(status.message() == path + ": offset 4000: cannot read 2000 bytes, the file has 5000");
  CHECK(!file.value().read(~uint64_t{0}, 1, out.data()).ok());
}

TEST_CASE("a file that shrinks under the reader is an error, not garbage") {
  const TempDir dir;
  const std::string path = dir.write("shrinks.bin", noise(20000));
  const auto file = DirectFile::open(path);
  REQUIRE(file.ok());
  REQUIRE(truncate(path.c_str(), 9000) == 0);
  std::string out(15000, '\0');
  CHECK(file.value().read(0, 15000, out.data()).code() == Code::kIo);
  auto buffer = AlignedBuffer::allocate(DirectFile::in_place_capacity(15000), 4096);
  REQUIRE(buffer.ok());
  CHECK(file.value().read_in_place(0, 15000, buffer->data()).status().code() == Code::kIo);
}

TEST_CASE("where O_DIRECT is refused the reads are buffered and it says so") {
  // tmpfs of older kernels refuses O_DIRECT; where it is accepted the two facts must agree as well.
  const std::string path = "/dev/shm/rota-direct-" + std::to_string(getpid());
  const std::string bytes = noise(9000);
  {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  const auto file = DirectFile::open(path);
  REQUIRE(file.ok());
  CHECK(file.value().direct() == file.value().why_buffered().empty());
  std::string out(100, '\0');
  CHECK(file.value().read(4090, 100, out.data()).ok());
  CHECK(out == bytes.substr(4090, 100));
  unlink(path.c_str());
  CHECK(DirectFile::open(path).status().code() == Code::kIo);
}

TEST_CASE("threads share one direct file") {
  const TempDir dir;
  const std::string bytes = noise(300000);
  const auto file = DirectFile::open(dir.write("shared.bin", bytes));
  REQUIRE(file.ok());
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 100; ++i) {
        const uint64_t offset = splitmix64(i * 7 + t) % (bytes.size() - 5000);
        std::string out(5000, '\0');
        wrong[t] += !file.value().read(offset, out.size(), out.data()).ok() ||
                    bytes.compare(offset, out.size(), out) != 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int count : wrong) CHECK(count == 0);
}

}  // namespace
}  // namespace rota
