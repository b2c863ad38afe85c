// Safetensors headers: what is read, and every lie refused in one line.
#include "formats/safetensors.h"

#include <doctest/doctest.h>

#include <string>

#include "base/rng.h"
#include "base/temp_dir.h"
#include "formats/safetensors_fixture.h"

namespace rota {
namespace {

std::string refusal(const std::string& bytes) {
  const TempDir dir;
  const std::string path = dir.write("x.safetensors", bytes);
  const auto opened = Safetensors::open(path);
  if (opened.ok()) return "accepted";
  CHECK(opened.status().code() == Code::kLoad);
  CHECK(opened.status().message().starts_with(path + ": "));
  CHECK(opened.status().message().find('\n') == std::string::npos);
  return opened.status().message().substr(path.size() + 2);
}

// A header of one tensor with this entry, over 8 bytes of data.
std::string entry(const std::string& text) {
  return refusal(safetensors_bytes("{\"t\":" + text + "}", "12345678"));
}

TEST_CASE("tensors are found with type, shape and place") {
  const TempDir dir;
  const std::string path = dir.write(
      "x.safetensors",
      safetensors_bytes({{"b", "BF16", "[1, 2]", "abcd"}, {"a", "F8_E4M3", "[3]", "xyz"}}));
  auto opened = Safetensors::open(path);
  REQUIRE_MESSAGE(opened.ok(), opened.status().message());
  CHECK(opened->tensors().size() == 2);
  const SafetensorsTensor& a = *opened->tensor("a");
  CHECK(a.dtype == "F8_E4M3");
  CHECK(a.shape == std::vector<uint64_t>{3});
  CHECK(a.bytes == 3);
  CHECK(read_file(path).substr(a.offset, a.bytes) == "xyz");
  CHECK(opened->tensor("__metadata__") == nullptr);
}

TEST_CASE("the head alone is read as the file is") {
  const TempDir dir;
  const std::string bytes =
      safetensors_bytes({{"b", "BF16", "[1, 2]", "abcd"}, {"a", "F8_E4M3", "[3]", "xyz"}});
  const std::string path = dir.write("x.safetensors", bytes);
  const std::string head = bytes.substr(0, bytes.size() - 7);  // without its data
  const auto read = Safetensors::read(path, head, bytes.size());
  const auto opened = Safetensors::open(path);
  REQUIRE_MESSAGE(read.ok(), read.status().message());
  REQUIRE(opened.ok());
  for (const SafetensorsTensor& tensor : opened.value().tensors()) {
    const SafetensorsTensor* const same = read.value().tensor(tensor.name);
    REQUIRE(same != nullptr);
    CHECK(same->offset == tensor.offset);
    CHECK(same->bytes == tensor.bytes);
  }
  CHECK(read.value().path() == path);
  CHECK(Safetensors::read(path, head, bytes.size() - 1)
            .status()
            .message()
            .ends_with("the file has 6 bytes of data (is it truncated?)"));
  for (size_t length = 0; length < head.size(); ++length) {
    CHECK(Safetensors::read(path, head.substr(0, length), bytes.size()).status().message() ==
          path + ": the header is cut");
  }
}

TEST_CASE("hostile headers are refused") {
  CHECK(refusal("") == "too short for a safetensors file");
  CHECK(
      refusal(std::string(8, '\xff')).starts_with("the header claims 18446744073709551615 bytes"));
  CHECK(refusal(safetensors_bytes("{", "")) == "the header is no JSON object");
  CHECK(refusal(safetensors_bytes("[]", "")) == "the header is no JSON object");
  CHECK(refusal(safetensors_bytes(std::string(100000, '['), "")) == "the header is no JSON object");
  CHECK(refusal(safetensors_bytes("{\"t\xff\":1}", "")) == "the header is no JSON object");
  CHECK(refusal(safetensors_bytes(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                  R"("t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                  "12")) == "tensor t is there twice");
  CHECK(entry("1") == "tensor t is no object");
  CHECK(entry("{}") == "tensor t has no dtype");
  CHECK(entry(R"({"dtype":1})") == "tensor t has no dtype");
  CHECK(entry(R"({"dtype":"U8"})") == "tensor t has no shape of at most 8 dimensions");
  CHECK(entry(R"({"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1]})") ==
        "tensor t has no shape of at most 8 dimensions");
  CHECK(entry(R"({"dtype":"U8","shape":[1],"data_offsets":[0]})") ==
        "tensor t has no data_offsets of two numbers");
  CHECK(entry(R"({"dtype":"U8","shape":[1],"data_offsets":[0,-1]})") ==
        "tensor t has no data_offsets of two numbers");
  CHECK(entry(R"({"dtype":"U8","shape":[1.5],"data_offsets":[0,1]})") ==
        "tensor t has a dimension that is no number");
  CHECK(entry(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})") ==
        "tensor t is larger than 2^64 bytes");
  CHECK(entry(R"({"dtype":"U8","shape":[9],"data_offsets":[0,9]})") ==
        "tensor t is at 0 to 9, the file has 8 bytes of data (is it truncated?)");
  CHECK(entry(R"({"dtype":"U8","shape":[1],"data_offsets":[5,4]})") ==
        "tensor t is at 5 to 4, the file has 8 bytes of data (is it truncated?)");
  CHECK(entry(R"({"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615]})")
            .find("the file has 8 bytes") != std::string::npos);
  CHECK(entry(R"({"dtype":"BF16","shape":[3],"data_offsets":[0,8]})") ==
        "tensor t has 8 bytes, its shape of BF16 needs 6");
  CHECK(entry(R"({"dtype":"F4","shape":[3],"data_offsets":[0,8]})") == "accepted");
  CHECK(refusal(safetensors_bytes(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                                  R"("b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                                  "12345678")) == "tensors a and b overlap");
}

TEST_CASE("no cut and no changed byte of a header crashes the reader") {
  const std::string whole =
      safetensors_bytes({{"b", "BF16", "[1, 2]", "abcd"}, {"a", "F8_E4M3", "[3]", "xyz"}});
  for (size_t length = 0; length < whole.size(); ++length) {
    CHECK(refusal(whole.substr(0, length)) != "accepted");
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(splitmix64(i));
    refusal(changed);
  }
}

}  // namespace
}  // namespace rota
