// Fuzz target: the head of a safetensors file, and the Engram tables that are looked for in it.
// What is accepted lies in the file, one tensor behind the other.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "formats/safetensors.h"
#include "model/engram_source.h"

namespace {

void check_places(const rota::Safetensors& file, uint64_t file_bytes) {
  uint64_t end = 8;
  for (const rota::SafetensorsTensor& tensor : file.tensors()) {
    ROTA_CHECK(tensor.offset >= end && tensor.offset <= file_bytes, tensor.name);
    ROTA_CHECK(tensor.bytes <= file_bytes - tensor.offset, tensor.name);
    end = tensor.offset + tensor.bytes;
    ROTA_CHECK(file.tensor(tensor.name) != nullptr, tensor.name);
  }
}

// Every row of a table can be read.
void check_table(const rota::EngramTable& table) {
  ROTA_CHECK(table.dim % 32 == 0 && table.rows > 0, "layer", table.layer);
  ROTA_CHECK(table.codes->bytes / table.dim == table.rows, "layer", table.layer);
  ROTA_CHECK(table.scales->bytes / (table.dim / 32) == table.rows, "layer", table.layer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // As much data behind the head as the seeds' tensors have.
  constexpr uint64_t kDataBytes = 4096;
  const uint64_t file_bytes = size + kDataBytes;
  const std::string_view head(reinterpret_cast<const char*>(data), size);
  auto file = rota::Safetensors::read("f", head, file_bytes);
  if (!file.ok()) return 0;
  check_places(file.value(), file_bytes);
  std::deque<rota::Safetensors> files;
  files.push_back(std::move(file).value());
  const auto source = rota::EngramSource::of(std::move(files), "f");
  if (!source.ok()) return 0;
  for (const rota::EngramTable& table : source.value().tables()) check_table(table);
  return 0;
}
