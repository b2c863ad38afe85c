// GGUF from an enemy: every damaged file is one line of error, never a crash.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/temp_dir.h"
#include "formats/gguf.h"
#include "formats/gguf_fixture.h"
#include "formats/input_gguf.h"

namespace rota {
namespace {

std::string put64(uint64_t value) { return {reinterpret_cast<const char*>(&value), 8}; }
std::string put32(uint32_t value) { return {reinterpret_cast<const char*>(&value), 4}; }
std::string text(const std::string& value) { return put64(value.size()) + value; }

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

std::vector<uint8_t> small_bytes() {
  const TempDir dir;
  const std::string whole = read_file(small_gguf(dir));
  return {whole.begin(), whole.end()};
}

TEST_CASE("bytes in memory are read as a file of them is") {
  const TempDir dir;
  const std::vector<uint8_t> bytes = small_bytes();
  const auto file = Gguf::open(small_gguf(dir));
  const auto memory = input_gguf(bytes);
  REQUIRE(file.ok());
  REQUIRE_MESSAGE(memory.ok(), memory.status().message());
  CHECK(memory.value().keys() == file.value().keys());
  CHECK(memory.value().string("name").value() == "small");
  CHECK(walk(memory.value()) == walk(file.value()));
  CHECK(memory.value().shards().front().path() == "input");
  CHECK(memory.value().tensor("t.q8")->data > bytes.data());
}

TEST_CASE("a file that says it is one of two is refused when it is read alone") {
  const TempDir dir;
  GgufWriter writer(dir / "half.gguf", 32);
  writer.key_u16("split.no", 0);
  writer.key_u16("split.count", 2);
  writer.key_i32("split.tensors.count", 0);
  REQUIRE(writer.begin_data().ok());
  REQUIRE(writer.finish().ok());
  const std::string text = read_file(dir / "half.gguf");
  CHECK(input_gguf(std::vector<uint8_t>(text.begin(), text.end())).status().message() ==
        "input: key split.no: the file says it is part 0 of 2, its name says part 0 of 1 (both "
        "from 0)");
}

TEST_CASE("a file cut at any length is an error") {
  const std::vector<uint8_t> whole = small_bytes();
  int accepted = 0;
  for (size_t length = 1; length < whole.size(); ++length) {
    // Of the very length, so that a read past the end shows.
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    accepted += input_gguf(cut).ok();
  }
  CHECK(accepted == 0);
  CHECK(input_gguf(whole).ok());
  const TempDir dir;
  CHECK(Gguf::open(dir.write("cut.gguf", "")).status().message() ==
        (dir / "cut.gguf") + ": the file is empty");
}

TEST_CASE("20,000 damaged files never crash the reader") {
  const std::vector<uint8_t> whole = small_bytes();
  uint64_t sum = 0;
  for (uint64_t trial = 0; trial < 20000; ++trial) {
    std::vector<uint8_t> mutant = whole;
    const uint64_t r = splitmix64(trial);
    const size_t at = (r >> 8) % mutant.size();
    if (trial % 2 == 0) {
      mutant[at] = static_cast<uint8_t>(r);
    } else {
      const uint64_t word = trial % 4 == 1 ? splitmix64(r) : ~uint64_t{0} >> (r % 64);
      std::memcpy(mutant.data() + at, &word, std::min<size_t>(8, mutant.size() - at));
    }
    const auto opened = input_gguf(mutant);
    sum += opened.ok() ? walk(opened.value()) : opened.status().message().size();
  }
  CHECK(sum > 0);
}

}  // namespace
}  // namespace rota
