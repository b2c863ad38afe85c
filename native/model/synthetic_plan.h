// What a synthetic GGUF will hold, tensor by tensor, before a byte is written. Private to
// synthetic_model.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/gguf_writer.h"
#include "model/config.h"
#include "model/synthetic.h"

namespace rota {

struct ExpertFormats {
  bool mixed = false;
  Format format = Format::kF32;  // when not mixed
};

struct PlanOptions {
  uint64_t seed = 1;
  bool sidecar = false;
  bool harsh = false;
  Family family = Family::kOurs;
  bool grid = false;
  bool engram_tables = true;
  Format dense = Format::kF32;
  Format engram = Format::kF32;
  ExpertFormats experts;
  bool random_experts = false;  // random blocks in place of encoded weights
};

// Where streamed rows go. `made` is told of each run of weights, and may stop there.
class TensorSink {
 public:
  using Made = std::function<Status(uint64_t weights)>;
  TensorSink(GgufWriter& writer, Made made) : writer_(writer), made_(std::move(made)) {}
  // Rows of a named tensor: values first .. first + rows * length - 1, encoded row by row.
  Status rows(const SyntheticValues& values, uint64_t first, uint64_t rows, uint64_t length,
              Format format);
  // An expert's three matrices at once, each of whole rows: random blocks.
  Status random_expert(Format format, uint64_t key, uint64_t weights);
  Status bytes(const void* data, size_t bytes) { return writer_.append(data, bytes); }

 private:
  GgufWriter& writer_;
  Made made_;
  std::vector<float> floats_;
  std::vector<uint8_t> encoded_;
};

struct PlannedTensor {
  std::string name;
  Format format;
  std::vector<uint64_t> ne;
  std::function<Status(TensorSink&)> write;
};

// All tensors of the model or, with options.sidecar, of its DSpark sidecar, in file order.
std::vector<PlannedTensor> plan_tensors(const Config& config, const PlanOptions& options);

uint64_t planned_weights(const std::vector<PlannedTensor>& plan);

}  // namespace rota
