// The Engram tables in safetensors files: which layers, where, how many rows. Gives rows as the
// MXFP8 blocks of our files. Private to engram_extract.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/safetensors.h"

namespace rota {

struct EngramTable {
  int layer = -1;
  uint64_t rows = 0, dim = 0;
  const Safetensors *codes_in = nullptr, *scales_in = nullptr;
  const SafetensorsTensor *codes = nullptr, *scales = nullptr;
  uint64_t row_bytes() const { return dim / 32 * 33; }
};

class EngramSource {
 public:
  // Files, or folders whose *.safetensors are looked through.
  static Result<EngramSource> open(const std::vector<std::string>& from);
  // Of files that are open; `named` is what an error calls all of them.
  static Result<EngramSource> of(std::deque<Safetensors> files, const std::string& named);
  EngramSource(EngramSource&&) = default;
  EngramSource(const EngramSource&) = delete;

  const std::vector<EngramTable>& tables() const { return tables_; }  // by layer
  // Rows [first, first + count) of a table, interleaved. out: count * row_bytes.
  Status read(const EngramTable& table, uint64_t first, uint64_t count, uint8_t* out);
  // SHA-256 over what is in the tables' headers and samples of their data.
  Result<std::string> identity() const;

 private:
  EngramSource() = default;
  Status find_tables();
  std::deque<Safetensors> files_;
  std::vector<EngramTable> tables_;
  std::vector<uint8_t> codes_, scales_;
};

}  // namespace rota
