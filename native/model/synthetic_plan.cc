// The list of tensors with the closures that write them.
#include "model/synthetic_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "formats/random_blocks.h"
#include "model/synthetic_model.h"
#include "model/tensor_names.h"

namespace rota {
namespace {

constexpr uint64_t kChunkWeights = uint64_t{1} << 16;

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
  SyntheticValues values(const std::string& name, WeightSpread spread) const {
    return SyntheticValues(options_.sidecar ? sidecar_key(name) : name, options_.seed, spread);
  }
  int experts() const { return options_.sidecar ? c_.draft_experts : c_.experts; }

  // Rows that do not divide into the format's blocks stay F32 (row lengths of small configs).
  Format dense_format(const ExpectedTensor& tensor) const {
    if (role_is_f32(tensor.role)) return Format::kF32;
    const bool engram = tensor.role == Role::kEngramEmbed;
    const Format wanted = engram ? options_.engram : options_.dense;
    return tensor.ne[0] % format_info(wanted).block_weights == 0 ? wanted : Format::kF32;
  }

  void add_dense(const ExpectedTensor& tensor) {
    if (tensor.role == Role::kEngramEmbed && !options_.engram_tables) return;
    const Format format = dense_format(tensor);
    WeightSpread spread = weight_spread(tensor.role, c_, tensor.ne[0], options_.harsh);
    spread.grid = options_.grid && !role_is_f32(tensor.role);
    // The values are named after the role, whatever the file calls it.
    const std::string name = role_tensor_name(tensor.role, tensor.layer);
    std::vector<uint64_t> ne = {tensor.ne[0]};
    if (tensor.ne[1] > 1) ne.push_back(tensor.ne[1]);
    plan_.push_back({tensor.name, format, ne,
                     [stream = values(name, spread), shape = tensor.ne, format](TensorSink& sink) {
                       return sink.rows(stream, 0, shape[1], shape[0], format);
                     }});
  }

  struct Part {
    SyntheticValues values;
    uint64_t rows, length;
  };
  Part part(int layer, ExpertPart which) const {
    const auto dim = static_cast<uint64_t>(c_.dim), inter = static_cast<uint64_t>(c_.moe_inter);
    const bool down = which == ExpertPart::kDown;
    const uint64_t length = down ? inter : dim;
    WeightSpread spread = expert_spread(length);
    spread.grid = options_.grid;
    return {values(expert_tensor_name(layer, which), spread), down ? dim : inter, length};
  }

  void add_plain_experts(int layer) {
    const auto count = static_cast<uint64_t>(experts());
    const Format format = options_.experts.format;
    for (const ExpertPart which : {ExpertPart::kGate, ExpertPart::kUp, ExpertPart::kDown}) {
      const Part p = part(layer, which);
      plan_.push_back({expert_tensor_name(layer, which),
                       format,
                       {p.length, p.rows, count},
                       [p, count, format](TensorSink& sink) {
                         return sink.rows(p.values, 0, p.rows * count, p.length, format);
                       }});
    }
  }

  // The router's bias for image tokens, which files of family B carry: random, so that a reader
  // that mixes it up is found out.
  void add_unread(int layer) {
    const std::string name = "blk." + std::to_string(layer) + ".exp_probs_b_vl.bias";
    const auto count = static_cast<uint64_t>(experts());
    plan_.push_back(
        {name, Format::kF32, {count}, [stream = values(name, {0, 10}), count](TensorSink& sink) {
           return sink.rows(stream, 0, 1, count, Format::kF32);
         }});
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
    const std::array<Part, 3> parts = {part(layer, ExpertPart::kGate), part(layer, ExpertPart::kUp),
                                       part(layer, ExpertPart::kDown)};
    const auto weights = uint64_t{3} * parts[0].rows * parts[0].length;
    std::optional<uint64_t> key;
    if (options_.random_experts) {
      const std::string name = expert_blob_name(layer, "random");
      key = fnv1a64(options_.sidecar ? sidecar_key(name) : name) ^ splitmix64(options_.seed);
    }
    for (const auto& [format, list] : members) {
      plan_.push_back({expert_blob_name(layer, format_info(format).name),
                       format,
                       {weights, list.size()},
                       [parts, key, weights, ids = list, f = format](TensorSink& sink) -> Status {
                         for (const uint64_t expert : ids) {
                           if (key) {
                             const uint64_t seed = splitmix64(*key + expert);
                             ROTA_RETURN_IF_ERROR(sink.random_expert(f, seed, weights));
                             continue;
                           }
                           for (const Part& p : parts) {
                             const uint64_t first = expert * p.rows * p.length;
                             ROTA_RETURN_IF_ERROR(sink.rows(p.values, first, p.rows, p.length, f));
                           }
                         }
                         return Status();
                       }});
    }
    plan_.push_back(
        {expert_map_name(layer),
         Format::kI32,
         {2, static_cast<uint64_t>(experts())},
         [map](TensorSink& sink) { return sink.bytes(map.data(), map.size() * sizeof(int32_t)); }});
  }

  const Config& c_;
  const PlanOptions& options_;
  std::vector<PlannedTensor> plan_;
};

}  // namespace

Status TensorSink::rows(const SyntheticValues& values, uint64_t first, uint64_t rows,
                        uint64_t length, Format format) {
  const auto row = row_bytes(format, length);
  ROTA_CHECK(row.ok(), row.status().message());
  const uint64_t chunk = std::max<uint64_t>(1, kChunkWeights / length);
  for (uint64_t begin = 0; begin < rows; begin += chunk) {
    const uint64_t count = std::min(chunk, rows - begin);
    floats_.resize(count * length);
    encoded_.resize(count * row.value());
    values.fill(first + begin * length, floats_.data(), floats_.size());
    // Rows are whole blocks, so many rows encode as one.
    encode_row(format, floats_.data(), encoded_.data(), floats_.size());
    ROTA_RETURN_IF_ERROR(writer_.append(encoded_.data(), encoded_.size()));
    ROTA_RETURN_IF_ERROR(made_(floats_.size()));
  }
  return Status();
}

Status TensorSink::random_expert(Format format, uint64_t key, uint64_t weights) {
  const auto bytes = row_bytes(format, weights);
  ROTA_CHECK(bytes.ok(), bytes.status().message());
  encoded_.resize(bytes.value());
  random_blocks(format, key, encoded_.data(), encoded_.size());
  ROTA_RETURN_IF_ERROR(writer_.append(encoded_.data(), encoded_.size()));
  return made_(weights);
}

std::vector<PlannedTensor> plan_tensors(const Config& config, const PlanOptions& options) {
  return Planner(config, options).plan();
}

uint64_t planned_weights(const std::vector<PlannedTensor>& plan) {
  uint64_t weights = 0;
  for (const PlannedTensor& tensor : plan) {
    uint64_t count = 1;
    for (const uint64_t dim : tensor.ne) count *= dim;
    weights += count;
  }
  return weights;
}

}  // namespace rota
