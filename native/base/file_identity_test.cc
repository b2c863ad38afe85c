#include "base/file_identity.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/lost_pages.h"
#include "base/mmap_file.h"
#include "base/temp_dir.h"

using namespace rota;

namespace {

std::string what_happened(const std::string& path, const FileIdentity& then) {
  bool touched = false;
  const Status status = check_unchanged(path, then, &touched);
  return status.ok() ? (touched ? "touched" : "same") : status.message();
}

}  // namespace

TEST_CASE("a file is the same until it is cut, written to, replaced or removed") {
  const TempDir dir;
  const std::string path = dir.write("f", "some bytes");
  const FileIdentity then = FileIdentity::of(path).value();
  CHECK(what_happened(path, then) == "same");
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  CHECK(what_happened(path, then).find("it was written to") != std::string::npos);
  const FileIdentity later = FileIdentity::of(path).value();
  REQUIRE(chmod(path.c_str(), 0600) == 0);
  CHECK(what_happened(path, later) == "touched");
  std::filesystem::resize_file(path, 3);
  CHECK(what_happened(path, later) ==
        path +
            ": changed since it was opened: it had 10 bytes and has 3; restart the engine on "
            "files that stay as they are");
  std::filesystem::rename(dir.write("g", "some bytes"), path);
  CHECK(what_happened(path, later).find("another file took its place") != std::string::npos);
  std::filesystem::remove(path);
  CHECK(what_happened(path, later).find("it is gone") != std::string::npos);
}

TEST_CASE("bytes that are cut off a mapped file read as zeros, and the file says that it changed") {
  const TempDir dir;
  const std::string path = dir.write("f", std::string(3 * 4096, 'x'));
  const auto file = MmapFile::open(path);
  REQUIRE(file.ok());
  const volatile uint8_t* data = file.value().data();
  CHECK(data[2 * 4096] == 'x');
  const int64_t before = lost_page_reads();
  std::filesystem::resize_file(path, 100);
  CHECK(data[4096] == 0);
  CHECK(data[2 * 4096 + 7] == 0);
  CHECK(data[50] == 'x');
  // The rest was replaced at the first loss.
  CHECK(lost_page_reads() == before + 1);
  bool touched = false;
  CHECK_FALSE(check_unchanged(path, file.value().identity(), &touched).ok());
}

TEST_CASE("a mapping that is gone is not watched any more") {
  const TempDir dir;
  const std::string path = dir.write("f", "bytes");
  for (int i = 0; i < 10'000; ++i) REQUIRE(MmapFile::open(path).ok());
}
