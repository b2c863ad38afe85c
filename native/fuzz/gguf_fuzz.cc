// Fuzz target: the GGUF container. Any bytes are opened or refused, and every value of what was
// opened can be read.
#include <cstddef>
#include <cstdint>

#include "formats/gguf.h"
#include "formats/input_gguf.h"

namespace {

// Each key as everything that it might be.
void read_values(const rota::Gguf& gguf) {
  for (const std::string& key : gguf.keys()) {
    (void)gguf.i32(key);
    (void)gguf.u64(key);
    (void)gguf.f32(key);
    (void)gguf.boolean(key);
    (void)gguf.string(key);
    (void)gguf.i32_array(key);
    (void)gguf.i64_array(key);
    (void)gguf.f32_array(key);
    (void)gguf.string_array(key);
  }
}

// Every tensor lies in its file: its first and last byte can be read.
unsigned touch(const rota::Gguf& gguf) {
  unsigned sum = 0;
  for (const rota::GgufTensor& tensor : gguf.tensors()) {
    if (tensor.bytes > 0) sum += tensor.data[0] + tensor.data[tensor.bytes - 1];
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto gguf = rota::input_gguf({data, size});
  if (!gguf.ok()) return 0;
  read_values(gguf.value());
  [[maybe_unused]] static volatile unsigned seen;
  seen = touch(gguf.value());
  return 0;
}
