// A small GGUF file for tests only.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "formats/gguf_writer.h"

namespace rota {

// A small file with every kind of key and two tensors.
inline std::string small_gguf(const TempDir& dir) {
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

}  // namespace rota
