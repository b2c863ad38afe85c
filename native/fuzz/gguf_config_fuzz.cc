// Fuzz target: the model's numbers in a GGUF's keys. A config that is accepted has sizes that every
// later step can use.
#include <cstddef>
#include <cstdint>

#include "formats/gguf.h"
#include "formats/input_gguf.h"
#include "model/gguf_config.h"
#include "model/tensor_names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto gguf = rota::input_gguf({data, size});
  if (!gguf.ok()) return 0;
  const auto family = rota::recognise_family(gguf.value());
  if (!family.ok()) return 0;
  const auto config = rota::read_config(gguf.value(), family.value());
  if (config.ok()) (void)rota::target_tensors(config.value());
  return 0;
}
