// GGUF: what the writer writes the reader reads; every damaged file is one line of error, never a
// crash.
#include "formats/gguf.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/temp_dir.h"
#include "formats/gguf_writer.h"
#include "formats/shard_name.h"

namespace rota {
namespace {

std::string put64(uint64_t value) { return {reinterpret_cast<const char*>(&value), 8}; }
std::string put32(uint32_t value) { return {reinterpret_cast<const char*>(&value), 4}; }
std::string text(const std::string& value) { return put64(value.size()) + value; }

// A small file with every kind of key and two tensors.
std::string small_file(const TempDir& dir) {
  const std::string path = dir / "small.gguf";
  GgufWriter writer(path, 32);
  writer.key_string("name", "small");
  writer.key_u32("u32", 7);
  writer.key_i32("negative", -7);
  writer.key_f32("f32", 1.5f);
  writer.key_bool("yes", true);
  writer.key_i32_array("list", std::vector<int32_t>{1, -2, 3});
  writer.key_i64_array("wide", std::vector<int64_t>{int64_t{1} << 40});
  writer.key_f32_array("floats", std::vector<float>{.5f, 2.f});
  writer.key_string_array("words", std::vector<std::string>{"a", "", "ccc"});
  REQUIRE(writer.add_tensor("t.f32", Format::kF32, std::vector<uint64_t>{3, 2}).ok());
  REQUIRE(writer.add_tensor("t.q8", Format::kQ8_0, std::vector<uint64_t>{32}).ok());
  REQUIRE(writer.begin_data().ok());
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  REQUIRE(writer.append(values.data(), 24).ok());
  const std::string block(34, 'q');
  // Cut anywhere: the stream knows where a tensor ends.
  REQUIRE(writer.append(block.data(), 10).ok());
  REQUIRE(writer.append(block.data() + 10, 24).ok());
  const uint64_t expected = writer.file_bytes();
  REQUIRE(writer.finish().ok());
  CHECK(std::filesystem::file_size(path) == expected);
  return path;
}

TEST_CASE("what is written is read") {
  const TempDir dir;
  const auto opened = Gguf::open(small_file(dir));
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
  const std::string path = small_file(dir);
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

// The header of a file with one key and one tensor, each field replaceable.
struct Hostile {
  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t tensors = 1, keys = 1;
  std::string key = text("k") + put32(4) + put32(1);
  std::string tensor = text("t") + put32(1) + put64(4) + put32(0) + put64(0);
  std::string bytes() const {
    std::string out = magic + put32(version) + put64(tensors) + put64(keys) + key + tensor;
    out.resize((out.size() + 31) / 32 * 32, '\0');
    return out + std::string(16, '\0');
  }
};

std::string refusal(const TempDir& dir, const Hostile& hostile) {
  const std::string path = dir.write("hostile.gguf", hostile.bytes());
  const auto opened = Gguf::open(path);
  if (opened.ok()) return "accepted";
  CHECK(opened.status().code() == Code::kLoad);
  CHECK(opened.status().message().starts_with(path + ": "));
  CHECK(opened.status().message().find('\n') == std::string::npos);
  return opened.status().message().substr(path.size() + 2);
}

TEST_CASE("hostile headers are refused with file, offset and reason") {
  const TempDir dir;
  CHECK(refusal(dir, {}) == "accepted");
  CHECK(refusal(dir, {.magic = "GGML"}) ==
        "offset 0: not a GGUF file (it does not begin with \"GGUF\")");
  CHECK(refusal(dir, {.version = 2}) == "offset 4: GGUF version 2, only 3 is supported");
  CHECK(refusal(dir, {.version = 0x03000000}) == "offset 4: big-endian GGUF is not supported");
  CHECK(refusal(dir, {.keys = uint64_t{1} << 60}) ==
        "offset 24: the header claims 1152921504606846976 keys, more than the file can hold");
  CHECK(refusal(dir, {.tensors = UINT64_MAX}) ==
        "offset 24: the header claims 18446744073709551615 tensors, more than the file can hold");
  CHECK(refusal(dir, {.key = put64(UINT64_MAX) + "x"}).find("a key has 18446744073709551615") !=
        std::string::npos);
  CHECK(refusal(dir, {.key = text("k") + put32(77)}) ==
        "offset 33: key k has unknown value type 77");
  CHECK(refusal(dir, {.key = text("k") + put32(9) + put32(4) + put64(uint64_t{1} << 62)})
            .find("array values, more than the file can hold") != std::string::npos);
  CHECK(refusal(dir, {.key = text("k") + put32(9) + put32(9) + put64(1)})
            .find("is an array of arrays") != std::string::npos);
  CHECK(refusal(dir, {.key = text("k") + put32(8) + put64(UINT64_MAX)})
            .find("the file ends inside a string value") != std::string::npos);
  CHECK(refusal(dir, {.key = text("k") + put32(7) + "\x05"}).find("bad boolean") !=
        std::string::npos);
  CHECK(refusal(dir, {.key = text("general.alignment") + put32(4) + put32(12)})
            .find("a power of two") != std::string::npos);
  CHECK(refusal(dir, {.key = text("general.alignment") + put32(4) + put32(0)})
            .find("a power of two") != std::string::npos);
  CHECK(refusal(dir, {.keys = 2,
                      .key = text("k") + put32(4) + put32(1) + text("k") + put32(4) + put32(1)}) ==
        "key k: appears twice");
}

TEST_CASE("hostile tensors are refused") {
  const TempDir dir;
  const auto tensor = [](uint32_t dims, const std::string& ne, uint32_t type, uint64_t offset) {
    return Hostile{.tensor = text("t") + put32(dims) + ne + put32(type) + put64(offset)};
  };
  const auto fails = [&](const Hostile& hostile, const char* why) {
    const std::string message = refusal(dir, hostile);
    CAPTURE(message);
    CHECK(message.find(why) != std::string::npos);
  };
  fails(tensor(0, "", 0, 0), "tensor t has 0 dimensions");
  fails(tensor(5, "", 0, 0), "tensor t has 5 dimensions");
  fails(tensor(1, put64(0), 0, 0), "has a dimension of 0");
  fails(tensor(1, put64(4), 12, 0), "ggml type 12 (Q4_K), which is not supported");
  fails(tensor(1, put64(4), 142, 0), "ggml type 142 (PQ2_0), which is not supported");
  fails(tensor(1, put64(33), 8, 0), "Q8_0 needs rows of a multiple of 32 weights, not 33");
  fails(tensor(1, put64(5), 0, 0), "the data section has 16 (is the file truncated?)");
  fails(tensor(1, put64(4), 0, 1 << 20), "at data offset 1048576");
  fails(tensor(1, put64(4), 0, UINT64_MAX - 31), "tensor t");
  fails(tensor(1, put64(4), 0, 8), "is not aligned to 32");
  fails(tensor(4, put64(uint64_t{1} << 40) + put64(uint64_t{1} << 40) + put64(1) + put64(1), 0, 0),
        "larger than 2^64 bytes");
  Hostile twice;
  twice.tensors = 2;
  twice.tensor += twice.tensor;
  CHECK(refusal(dir, twice) == "tensor t appears twice");
}

// Touches everything a loader would touch, so that a bad pointer shows.
uint64_t walk(const Gguf& gguf) {
  uint64_t sum = 0;
  for (const std::string& key : gguf.keys()) {
    sum += gguf.u32(key).ok() + gguf.i64(key).ok() + gguf.f32(key).ok() + gguf.boolean(key).ok();
    sum += gguf.string(key).ok() + gguf.i64_array(key).ok() + gguf.f32_array(key).ok();
    sum += gguf.string_array(key).ok();
  }
  for (const GgufTensor& tensor : gguf.tensors())
    sum += tensor.data[0] + tensor.data[tensor.bytes - 1];
  return sum;
}

TEST_CASE("a file cut at any length is an error") {
  const TempDir dir;
  const std::string whole = read_file(small_file(dir));
  int accepted = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    accepted += Gguf::open(dir.write("cut.gguf", whole.substr(0, length))).ok();
  }
  CHECK(accepted == 0);
  CHECK(Gguf::open(dir.write("cut.gguf", whole)).ok());
}

TEST_CASE("20,000 damaged files never crash the reader") {
  // In memory: the file system is not what is tested here.
  const std::string folder = "/dev/shm";
  const TempDir dir;
  const std::string whole = read_file(small_file(dir));
  const std::string path =
      (access(folder.c_str(), W_OK) == 0 ? folder + "/rota-mutant-" : dir / "mutant-") +
      std::to_string(getpid());
  uint64_t sum = 0;
  for (uint64_t trial = 0; trial < 20000; ++trial) {
    std::string mutant = whole;
    const uint64_t r = splitmix64(trial);
    const size_t at = (r >> 8) % mutant.size();
    if (trial % 2 == 0) {
      mutant[at] = static_cast<char>(r);
    } else {
      const uint64_t word = trial % 4 == 1 ? splitmix64(r) : ~uint64_t{0} >> (r % 64);
      std::memcpy(mutant.data() + at, &word, std::min<size_t>(8, mutant.size() - at));
    }
    std::ofstream(path, std::ios::binary) << mutant;
    const auto opened = Gguf::open(path);
    sum += opened.ok() ? walk(opened.value()) : opened.status().message().size();
  }
  unlink(path.c_str());
  CHECK(sum > 0);
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
