// The list of tensors with the closures that fill them.
#include "model/synthetic_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "formats/random_blocks.h"
#include "model/synthetic.h"
#include "model/synthetic_model.h"
#include "model/tensor_names.h"

namespace rota {
namespace {

constexpr uint64_t kPieceWeights = uint64_t{1} << 22;  // of a dense matrix
constexpr uint64_t kChunkWeights = uint64_t{1} << 16;  // that are floats at a time

size_t bytes_of(Format format, uint64_t weights) {
  const auto bytes = row_bytes(format, weights);
  ROTA_CHECK(bytes.ok(), bytes.status().message());
  return bytes.value();
}

// Rows are whole blocks, so any stretch of whole blocks encodes as one row.
void encode_values(const SyntheticValues& values, Format format, uint64_t first, uint64_t weights,
                   uint8_t* out) {
  std::vector<float> floats(std::min(weights, kChunkWeights));
  for (uint64_t at = 0; at < weights; at += kChunkWeights) {
    const size_t count = std::min(kChunkWeights, weights - at);
    values.fill(first + at, floats.data(), count);
    encode_row(format, floats.data(), out, count);
    out += bytes_of(format, count);
  }
}

class Planner {
 public:
  Planner(const Config& config, const PlanOptions& options) : c_(config), options_(options) {}

  std::vector<PlannedTensor> plan() {
    const auto dense = options_.sidecar ? draft_tensors(c_) : target_tensors(c_, options_.family);
    const int layers = options_.sidecar ? c_.draft_stages : c_.layers;
    for (const ExpectedTensor& tensor : dense) {
      if (tensor.layer < 0) add_dense(tensor);
    }
    for (int layer = 0; layer < layers; ++layer) {
      for (const ExpectedTensor& tensor : dense) {
        if (tensor.layer == layer) add_dense(tensor);
      }
      options_.family == Family::kOurs ? add_blobs(layer) : add_plain_experts(layer);
      if (options_.family == Family::kB && !options_.sidecar) add_unread(layer);
    }
    return std::move(plan_);
  }

 private:
  int experts() const { return options_.sidecar ? c_.draft_experts : c_.experts; }
  std::string key_name(const std::string& name) const {
    return options_.sidecar ? sidecar_key(name) : name;
  }

  FillWeights drawn(const std::string& name, WeightSpread spread, Format format) const {
    return [values = SyntheticValues(key_name(name), options_.seed, spread), format](
               uint64_t first, uint64_t weights, uint8_t* out) {
      encode_values(values, format, first, weights, out);
    };
  }
  // A seed for each stretch of `stride` weights.
  FillWeights random(const std::string& name, double rms, Format format, uint64_t stride) const {
    const uint64_t key = fnv1a64(key_name(name)) ^ splitmix64(options_.seed);
    return [blocks = RandomBlocks(format, rms), key, format, stride](
               uint64_t first, uint64_t weights, uint8_t* out) {
      blocks.fill(splitmix64(key + first / stride), out, bytes_of(format, weights));
    };
  }

  // Rows that do not divide into the format's blocks stay F32 (row lengths of small configs).
  Format dense_format(const ExpectedTensor& tensor) const {
    if (role_is_f32(tensor.role)) return Format::kF32;
    const bool engram = tensor.role == Role::kEngramEmbed;
    const Format wanted = engram ? options_.engram : options_.dense;
    return tensor.ne[0] % format_info(wanted).block_weights == 0 ? wanted : Format::kF32;
  }

  // Whose mean or exact size matters is drawn, and so is what is small.
  bool is_random(Role role) const {
    return options_.random && !role_is_f32(role) && role != Role::kRouter;
  }

  void add_dense(const ExpectedTensor& tensor) {
    if (tensor.role == Role::kEngramEmbed && !options_.engram_tables) return;
    if (tensor.role == Role::kRouterBias && options_.skew != nullptr) return add_skew(tensor);
    const Format format = dense_format(tensor);
    WeightSpread spread = weight_spread(tensor.role, c_, tensor.ne[0], options_.harsh);
    spread.grid = options_.grid && !role_is_f32(tensor.role);
    // The values are named after the role, whatever the file calls it.
    const std::string name = role_tensor_name(tensor.role, tensor.layer);
    const uint64_t stride = std::max<uint64_t>(1, kPieceWeights / tensor.ne[0]) * tensor.ne[0];
    std::vector<uint64_t> ne = {tensor.ne[0]};
    if (tensor.ne[1] > 1) ne.push_back(tensor.ne[1]);
    plan_.push_back({tensor.name, format, ne, stride,
                     is_random(tensor.role) ? random(name, spread.std, format, stride)
                                            : drawn(name, spread, format)});
  }

  void add_skew(const ExpectedTensor& tensor) {
    plan_.push_back(
        {tensor.name,
         Format::kF32,
         {tensor.ne[0]},
         tensor.ne[0],
         [bias = options_.skew->biases(tensor.layer)](uint64_t, uint64_t, uint8_t* out) {
           std::memcpy(out, bias.data(), bias.size() * sizeof(float));
         }});
  }

  uint64_t matrix_weights() const {
    return static_cast<uint64_t>(c_.dim) * static_cast<uint64_t>(c_.moe_inter);
  }

  // One matrix of all experts of a layer, expert by expert.
  FillWeights matrices(int layer, ExpertPart which, Format format) const {
    const std::string name = expert_tensor_name(layer, which);
    WeightSpread spread =
        expert_spread(static_cast<uint64_t>(which == ExpertPart::kDown ? c_.moe_inter : c_.dim));
    spread.grid = options_.grid;
    return options_.random ? random(name, spread.std, format, matrix_weights())
                           : drawn(name, spread, format);
  }

  void add_plain_experts(int layer) {
    const auto dim = static_cast<uint64_t>(c_.dim), inter = static_cast<uint64_t>(c_.moe_inter);
    const auto count = static_cast<uint64_t>(experts());
    for (const ExpertPart which : {ExpertPart::kGate, ExpertPart::kUp, ExpertPart::kDown}) {
      const bool down = which == ExpertPart::kDown;
      plan_.push_back({expert_tensor_name(layer, which),
                       options_.experts.format,
                       {down ? inter : dim, down ? dim : inter, count},
                       matrix_weights(),
                       matrices(layer, which, options_.experts.format)});
    }
  }

  // The router's bias for image tokens, which files of family B carry: random, so that a reader
  // that mixes it up is found out.
  void add_unread(int layer) {
    const std::string name = "blk." + std::to_string(layer) + ".exp_probs_b_vl.bias";
    const auto count = static_cast<uint64_t>(experts());
    plan_.push_back({name, Format::kF32, {count}, count, drawn(name, {0, 10}, Format::kF32)});
  }

  Format expert_format(int layer, int expert) const {
    return options_.experts.mixed ? mixed_format(options_.seed, options_.sidecar, layer, expert)
                                  : options_.experts.format;
  }

  void add_blobs(int layer) {
    std::map<Format, std::vector<uint64_t>> members;
    std::vector<int32_t> map;
    for (int expert = 0; expert < experts(); ++expert) {
      const Format format = expert_format(layer, expert);
      map.push_back(static_cast<int32_t>(format));
      map.push_back(static_cast<int32_t>(members[format].size()));
      members[format].push_back(static_cast<uint64_t>(expert));
    }
    const uint64_t matrix = matrix_weights();
    for (const auto& [format, list] : members) {
      const std::array<FillWeights, 3> parts = {matrices(layer, ExpertPart::kGate, format),
                                                matrices(layer, ExpertPart::kUp, format),
                                                matrices(layer, ExpertPart::kDown, format)};
      plan_.push_back({expert_blob_name(layer, format_info(format).name),
                       format,
                       {3 * matrix, list.size()},
                       matrix,
                       [parts, matrix, ids = list](uint64_t first, uint64_t weights, uint8_t* out) {
                         const uint64_t number = first / matrix;
                         parts[number % 3](ids[number / 3] * matrix, weights, out);
                       }});
    }
    plan_.push_back({expert_map_name(layer),
                     Format::kI32,
                     {2, static_cast<uint64_t>(experts())},
                     map.size(),
                     [map](uint64_t, uint64_t, uint8_t* out) {
                       std::memcpy(out, map.data(), map.size() * sizeof(int32_t));
                     }});
  }

  const Config& c_;
  const PlanOptions& options_;
  std::vector<PlannedTensor> plan_;
};

}  // namespace

uint64_t PlannedTensor::weights() const {
  uint64_t count = 1;
  for (const uint64_t dim : ne) count *= dim;
  return count;
}

std::vector<PlannedTensor> plan_tensors(const Config& config, const PlanOptions& options) {
  return Planner(config, options).plan();
}

uint64_t planned_weights(const std::vector<PlannedTensor>& plan) {
  uint64_t weights = 0;
  for (const PlannedTensor& tensor : plan) weights += tensor.weights();
  return weights;
}

}  // namespace rota
