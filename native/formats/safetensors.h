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
  // Of a file of `file_bytes` that begins with `head`, which has all of the header. There is no
  // file() to read tensors from.
  static Result<Safetensors> read(const std::string& path, std::string_view head,
                                  uint64_t file_bytes);

  const DirectFile& file() const { return file_; }
  const std::string& path() const { return path_; }
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }  // by offset
  const SafetensorsTensor* tensor(std::string_view name) const;               // nullptr when absent

 private:
  Status parse(std::string_view header, uint64_t data_bytes);

  std::string path_;
  DirectFile file_;
  std::vector<SafetensorsTensor> tensors_;
};

}  // namespace rota
