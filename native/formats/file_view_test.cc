// Raw parts read as one file: every cut, every range, and what is missing or too short by its name.
#include "formats/file_view.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "base/temp_dir.h"
#include "formats/gguf.h"
#include "formats/gguf_fixture.h"

namespace rota {
namespace {

// Cuts `bytes` into NAME.part-00 and so on.
std::string write_parts(const TempDir& dir, const std::string& name, const std::string& bytes,
                        size_t each) {
  char suffix[16];
  for (size_t i = 0; i * each < bytes.size(); ++i) {
    std::snprintf(suffix, sizeof(suffix), ".part-%02zu", i);
    dir.write(name + suffix, bytes.substr(i * each, each));
  }
  return dir / name;
}

std::string failure(const std::string& path) {
  const auto view = FileView::open(path);
  if (view.ok()) return "opened";
  CHECK(view.status().code() == Code::kLoad);
  return view.status().message();
}

TEST_CASE("every range of every cut is the whole's") {
  std::string bytes;
  for (int i = 0; i < 23; ++i) bytes += static_cast<char>('a' + i);
  for (size_t each = 1; each <= 23; ++each) {
    const TempDir dir;
    auto view = FileView::open(write_parts(dir, "f", bytes, each));
    REQUIRE_MESSAGE(view.ok(), view.status().message());
    CHECK(view->size() == 23);
    CHECK(view->path() == dir / "f");
    CHECK(view->parts().size() == (23 + each - 1) / each);
    for (uint64_t from = 0; from < 23; ++from) {
      for (uint64_t count = 0; from + count <= 23; ++count) {
        const std::string expected = bytes.substr(from, count);
        std::string read(count, '-');
        view->read(from, count, read.data());
        CHECK(read == expected);
        CHECK(std::memcmp(view->at(from, count), expected.data(), count) == 0);
        const bool inside = count == 0 || from / each == (from + count - 1) / each;
        CHECK((view->within(from, count) != nullptr) == inside);
      }
    }
  }
}

TEST_CASE("a whole file goes before its parts, unless a part is named") {
  const TempDir dir;
  write_parts(dir, "f", "abcdef", 2);
  dir.write("f", "whole");
  CHECK(FileView::open(dir / "f")->size() == 5);
  CHECK(FileView::open(dir / "f.part-01")->size() == 6);
  CHECK(FileView::open(dir / "f.part-01")->path() == dir / "f");
  CHECK(without_part_suffix("a/b.gguf.part-7") == "a/b.gguf.part-7");  // two digits at least
  CHECK(without_part_suffix("a/b.gguf.part-07") == "a/b.gguf");
  CHECK(without_part_suffix("a/b.gguf.part-0x") == "a/b.gguf.part-0x");
}

TEST_CASE("a part that is missing, empty, too short or there twice is named") {
  const TempDir dir;
  CHECK(failure(dir / "f") == (dir / "f") + ": cannot open: No such file or directory");
  CHECK(failure(dir / "f.part-00") ==
        (dir / "f.part-00") + ": cannot open: No such file or directory");
  write_parts(dir, "f", "abcdefghij", 3);
  std::filesystem::rename(dir / "f.part-01", dir / "kept");
  CHECK(failure(dir / "f") ==
        (dir / "f.part-01") + ": this part is missing, " + (dir / "f.part-02") + " is there");
  dir.write("f.part-01", "de");
  CHECK(failure(dir / "f") ==
        (dir / "f.part-01") +
            ": has 2 bytes, other parts 3; all but the last must be equally long " +
            "(is it truncated?)");
  dir.write("f.part-01", "");
  CHECK(failure(dir / "f") == (dir / "f.part-01") + ": the file is empty");
  std::filesystem::rename(dir / "kept", dir / "f.part-01");
  CHECK(failure(dir / "f") == "opened");
  dir.write("f.part-001", "def");
  const std::string twice = failure(dir / "f");
  CHECK(twice.find(": part 1 is also ") != std::string::npos);
}

TEST_CASE("a GGUF reads the same from parts of any size") {
  const TempDir whole_dir;
  const std::string path = small_gguf(whole_dir);
  const std::string bytes = read_file(path);
  for (size_t each = 5; each < bytes.size(); each += 13) {
    const TempDir dir;
    auto gguf = Gguf::open(write_parts(dir, "small.gguf", bytes, each));
    REQUIRE_MESSAGE(gguf.ok(), gguf.status().message());
    CHECK(gguf->i64_array("wide").value() == std::vector<int64_t>{int64_t{1} << 40});
    CHECK(gguf->string_array("words").value() == std::vector<std::string>{"a", "", "ccc"});
    const GgufTensor& tensor = *gguf->tensor("t.f32");
    float values[6];
    std::memcpy(values, gguf->contiguous(tensor, 0, 24), 24);
    CHECK(values[0] == 1.f);
    CHECK(values[5] == 6.f);
  }
}

TEST_CASE("a last part that is truncated or missing is named by the tensor that needs it") {
  const TempDir whole_dir;
  const std::string bytes = read_file(small_gguf(whole_dir));
  const size_t each = bytes.size() / 3 + 1;
  const TempDir dir;
  write_parts(dir, "small.gguf", bytes.substr(0, bytes.size() - 9), each);
  const auto cut = Gguf::open(dir / "small.gguf");
  CHECK(cut.status().message().ends_with("(is " + (dir / "small.gguf.part-02") +
                                         " truncated, or a part behind it missing?)"));
  std::filesystem::remove(dir / "small.gguf.part-02");
  CHECK(Gguf::open(dir / "small.gguf").status().code() == Code::kLoad);
}

}  // namespace
}  // namespace rota
