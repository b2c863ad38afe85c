// Fuzz target: the keys of a DSpark sidecar beside a good model. The first input makes the model's
// config; sidecars that do not fit it are refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/check.h"
#include "base/temp_dir.h"
#include "formats/gguf.h"
#include "formats/input_gguf.h"
#include "model/gguf_config.h"
#include "model/synthetic_model.h"
#include "model/tensor_names.h"

namespace {

struct Target {
  Target() {
    rota::SyntheticOptions options;
    options.config = "mini-xs";
    const auto files = rota::write_synthetic_model(options, dir / "m.gguf");
    ROTA_CHECK(files.ok(), files.status().message());
    auto opened = rota::Gguf::open(dir / "m.gguf");
    ROTA_CHECK(opened.ok(), opened.status().message());
    gguf = std::move(opened).value();
    auto read = rota::read_config(gguf, rota::Family::kOurs);
    ROTA_CHECK(read.ok(), read.status().message());
    config = std::move(read).value();
  }
  rota::TempDir dir;
  rota::Gguf gguf;
  rota::Config config;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Target target;
  const auto sidecar = rota::input_gguf({data, size});
  if (!sidecar.ok()) return 0;
  rota::Config config = target.config;
  if (rota::read_draft_config(target.gguf, sidecar.value(), config).ok()) {
    (void)rota::draft_tensors(config);
  }
  return 0;
}
