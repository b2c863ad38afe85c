// The header of a safetensors file: names, types, shapes and places of its tensors. Every length,
// offset and shape is refused when it does not fit the file. Reads no tensor; knows no model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/direct_file.h"
#include "base/status.h"

namespace rota {

struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // "F8_E4M3", "BF16", …
  std::vector<uint64_t> shape;
  uint64_t offset = 0, bytes = 0;  // in the file
};

class Safetensors {
 public:
  // kLoad (kIo where the disk fails), one line: file, tensor, reason.
  static Result<Safetensors> open(const std::string& path);

  const DirectFile& file() const { return file_; }
  const std::string& path() const { return file_.path(); }
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }  // by offset
  const SafetensorsTensor* tensor(std::string_view name) const;               // nullptr when absent

 private:
  Status parse(const std::string& header, uint64_t data_start);

  DirectFile file_;
  std::vector<SafetensorsTensor> tensors_;
};

}  // namespace rota
