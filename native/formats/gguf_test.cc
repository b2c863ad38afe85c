// GGUF: what the writer writes the reader reads, split or whole; keys and disks that disappoint.
#include "formats/gguf.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "formats/gguf_fixture.h"
#include "formats/gguf_writer.h"
#include "formats/shard_name.h"

namespace rota {
namespace {

TEST_CASE("what is written is read") {
  const TempDir dir;
  const auto opened = Gguf::open(small_gguf(dir));
  REQUIRE_MESSAGE(opened.ok(), opened.status().message());
  const Gguf& gguf = opened.value();
  CHECK(gguf.string("name").value() == "small");
  CHECK(gguf.u32("u32").value() == 7);
  CHECK(gguf.i64("negative").value() == -7);
  CHECK(gguf.f32("f32").value() == 1.5f);
  CHECK(gguf.boolean("yes").value());
  CHECK(gguf.i32_array("list").value() == std::vector<int32_t>{1, -2, 3});
  CHECK(gguf.i64_array("wide").value() == std::vector<int64_t>{int64_t{1} << 40});
  CHECK(gguf.f32_array("floats").value() == std::vector<float>{.5f, 2.f});
  CHECK(gguf.string_array("words").value() == std::vector<std::string>{"a", "", "ccc"});
  REQUIRE(gguf.tensors().size() == 2);
  const GgufTensor& tensor = *gguf.tensor("t.f32");
  CHECK(tensor.ne == std::array<uint64_t, 4>{3, 2, 1, 1});
  CHECK(tensor.bytes == 24);
  CHECK(tensor.offset % 32 == 0);
  float last;
  std::memcpy(&last, tensor.data + 20, 4);
  CHECK(last == 6.f);
  CHECK(gguf.tensor("t.q8")->data[33] == 'q');
  CHECK(gguf.tensor("absent") == nullptr);
}

TEST_CASE("getters name file, key and what was found") {
  const TempDir dir;
  const std::string path = small_gguf(dir);
  const auto opened = Gguf::open(path);
  REQUIRE(opened.ok());
  const Gguf& gguf = opened.value();
  CHECK(gguf.u32("absent").status().message() == path + ": key absent: missing");
  CHECK(gguf.u32("name").status().message() ==
        path + ": key name: expected an integer, found string");
  CHECK(gguf.u32("negative").status().message() ==
        path + ": key negative: the value is out of range");
  CHECK(gguf.u32("list").status().message() ==
        path + ": key list: expected one value, found an array of i32");
  CHECK(gguf.i32_array("wide").status().message() == path + ": key wide: value 0 is out of range");
  CHECK(gguf.i32_array("words").status().message() ==
        path + ": key words: expected integers, found an array of string");
  CHECK(gguf.string_array("list").status().message() ==
        path + ": key list: expected strings, found an array of i32");
  CHECK(gguf.f32("u32").status().message() == path + ": key u32: expected a float, found u32");
  CHECK(gguf.boolean("u32").status().code() == Code::kLoad);
  CHECK(gguf.f32_array("list").status().code() == Code::kLoad);
}

std::string shard(const TempDir& dir, int index, int count, const std::string& tensor, int no,
                  int of, int total) {
  const std::string path = shard_path({dir / "m", 0, count}, index);
  GgufWriter writer(path, 32);
  writer.key_u16("split.no", static_cast<uint16_t>(no));
  writer.key_u16("split.count", static_cast<uint16_t>(of));
  writer.key_i32("split.tensors.count", total);
  REQUIRE(writer.add_tensor(tensor, Format::kF32, std::vector<uint64_t>{1}).ok());
  REQUIRE(writer.begin_data().ok());
  const float value = static_cast<float>(index);
  REQUIRE(writer.append(&value, 4).ok());
  REQUIRE(writer.finish().ok());
  return path;
}

TEST_CASE("split files open from any shard") {
  const TempDir dir;
  shard(dir, 0, 2, "a", 0, 2, 2);
  const std::string second = shard(dir, 1, 2, "b", 1, 2, 2);
  const auto opened = Gguf::open(second);
  REQUIRE_MESSAGE(opened.ok(), opened.status().message());
  CHECK(opened.value().tensors().size() == 2);
  CHECK(opened.value().tensor("b")->shard == 1);
  float value;
  std::memcpy(&value, opened.value().tensor("b")->data, 4);
  CHECK(value == 1.f);
}

TEST_CASE("split files that do not belong together are refused") {
  const auto message = [](const TempDir& dir) {
    const auto opened = Gguf::open(dir / "m-00001-of-00002.gguf");
    return opened.ok() ? std::string("accepted") : opened.status().message();
  };
  const TempDir missing;
  shard(missing, 0, 2, "a", 0, 2, 2);
  CHECK(message(missing) ==
        (missing / "m-00002-of-00002.gguf") + ": cannot open: No such file or directory");
  const TempDir foreign;
  shard(foreign, 0, 2, "a", 0, 2, 2);
  shard(foreign, 1, 2, "b", 1, 3, 2);
  CHECK(message(foreign) == (foreign / "m-00002-of-00002.gguf") +
                                ": key split.no: the file says it is part 1 of 3, its name says "
                                "part 1 of 2 (both from 0)");
  const TempDir twice;
  shard(twice, 0, 2, "a", 0, 2, 2);
  shard(twice, 1, 2, "a", 1, 2, 2);
  CHECK(message(twice).ends_with("tensor a appears twice"));
  const TempDir fewer;
  shard(fewer, 0, 2, "a", 0, 2, 3);
  shard(fewer, 1, 2, "b", 1, 2, 3);
  CHECK(message(fewer) == (fewer / "m-00001-of-00002.gguf") +
                              ": key split.tensors.count: promises 3 tensors, the 2 files have 2");
  const TempDir renamed;
  const std::string first = shard(renamed, 0, 2, "a", 0, 2, 2);
  std::filesystem::rename(first, renamed / "whole.gguf");
  CHECK(!Gguf::open(renamed / "whole.gguf").ok());
}

TEST_CASE("shard names") {
  CHECK(parse_shard_name("/x/m-00002-of-00003.gguf")->index == 1);
  CHECK(parse_shard_name("/x/m-00002-of-00003.gguf")->stem == "/x/m");
  CHECK(shard_path({"/x/m", 0, 12}, 4) == "/x/m-00005-of-00012.gguf");
  for (const char* other : {"m.gguf", "m-00000-of-00003.gguf", "m-00004-of-00003.gguf",
                            "m-0001-of-0003.gguf", "m-0000x-of-00003.gguf", ""}) {
    CHECK(!parse_shard_name(other).has_value());
  }
  CHECK(model_stem("/x/m-00001-of-00003.gguf") == "/x/m");
  CHECK(model_stem("/x/m.gguf") == "/x/m");
  CHECK(model_stem("m") == "m");
}

TEST_CASE("a writer that does not finish leaves nothing, and says why it cannot write") {
  const TempDir dir;
  {
    GgufWriter writer(dir / "half.gguf", 32);
    REQUIRE(writer.add_tensor("t", Format::kF32, std::vector<uint64_t>{4}).ok());
    REQUIRE(writer.begin_data().ok());
    CHECK(std::filesystem::exists(dir / "half.gguf.tmp"));
  }
  CHECK(std::filesystem::is_empty(dir / ""));
  GgufWriter nowhere(dir / "no/such/folder.gguf", 32);
  CHECK(nowhere.begin_data().message() ==
        (dir / "no/such/folder.gguf") + ": cannot create: No such file or directory");
  GgufWriter odd(dir / "odd.gguf", 32);
  CHECK(odd.add_tensor("t", Format::kQ3_K, std::vector<uint64_t>{100}).code() == Code::kUsage);
}

TEST_CASE("a disk that is full is a Status, and the half file goes") {
  const TempDir dir;
  rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 1 << 20;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  {
    GgufWriter writer(dir / "big.gguf", 32);
    REQUIRE(writer.add_tensor("t", Format::kF32, std::vector<uint64_t>{4 << 20}).ok());
    REQUIRE(writer.begin_data().ok());
    const std::vector<float> values(4 << 20, 1.f);
    const Status status = writer.append(values.data(), values.size() * 4);
    CHECK(status.code() == Code::kIo);
    CHECK(status.message() == (dir / "big.gguf") + ": cannot write: File too large");
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(std::filesystem::is_empty(dir / ""));
}

}  // namespace
}  // namespace rota
