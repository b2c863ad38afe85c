// A file of golden numbers (golden/README.md), section by section. For tests only.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/temp_dir.h"

namespace rota {

class GoldenFile {
 public:
  explicit GoldenFile(const std::string& path) : bytes_(read_file(path)) {
    REQUIRE_MESSAGE(bytes_.substr(0, 4) == "RGLD", path);
    std::memcpy(&sections_, bytes_.data() + 4, sizeof sections_);
  }
  std::vector<int> ints() { return section<int>(0); }
  std::vector<float> floats() { return section<float>(1); }
  // Every section that the file counts was read, and nothing lies behind.
  bool at_end() const { return read_ == sections_ && at_ == bytes_.size(); }

 private:
  template <typename T>
  std::vector<T> section(uint32_t kind) {
    uint32_t header[2];
    REQUIRE(at_ + sizeof header <= bytes_.size());
    std::memcpy(header, bytes_.data() + at_, sizeof header);
    at_ += sizeof header;
    REQUIRE(header[0] == kind);
    std::vector<T> out(header[1]);
    REQUIRE(at_ + out.size() * sizeof(T) <= bytes_.size());
    std::memcpy(out.data(), bytes_.data() + at_, out.size() * sizeof(T));
    at_ += out.size() * sizeof(T);
    ++read_;
    return out;
  }

  std::string bytes_;
  uint32_t sections_ = 0, read_ = 0;
  size_t at_ = 8;
};

// The largest; ends the test where a is no number.
inline double largest_difference(const float* a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    REQUIRE(std::isfinite(a[i]));
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

}  // namespace rota
