// Shapes and formats against what the config implies, and tensors that straddle raw parts.
#include "model/opened_gguf.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/expert_blobs.h"

namespace rota {
namespace {

constexpr auto kRoles = static_cast<size_t>(Role::kCount);

size_t place_of(Role role, int layer) {
  return static_cast<size_t>(layer + 1) * kRoles + static_cast<size_t>(role);
}

std::string shape_text(const std::array<uint64_t, 4>& ne) {
  std::string text = "[" + std::to_string(ne[0]);
  for (size_t i = 1; i < ne.size(); ++i) {
    if (i == 1 || ne[i] != 1) text += ", " + std::to_string(ne[i]);
  }
  return text + "]";
}

// Empty, or what is wrong with the tensor that was found. Vectors are F32 in every file; a matrix
// that the model takes as F32 may be stored otherwise, and is decoded.
std::string defect(const GgufTensor& found, const ExpectedTensor& expected) {
  const std::array<uint64_t, 4> ne = {expected.ne[0], expected.ne[1], 1, 1};
  if (found.ne != ne) return "shape " + shape_text(found.ne) + ", expected " + shape_text(ne);
  const bool f32 = role_is_f32(expected.role) && expected.ne[1] == 1;
  if (is_weight_format(found.format) && !(f32 && found.format != Format::kF32)) return "";
  return std::string("format ") + format_info(found.format).name + ", expected " +
         (f32 ? "F32" : "a weight format");
}

}  // namespace

OpenedGguf::OpenedGguf(Gguf file, int first_file) : gguf(std::move(file)) {
  for (const FileView& shard : gguf.shards()) {
    first_files_.push_back(first_file + static_cast<int>(files_.size()));
    for (const MmapFile& part : shard.parts()) files_.push_back(&part);
  }
}

// A table may be larger than the memory: its rows stay where they are, but for those that straddle
// two parts.
void OpenedGguf::place_rows(const GgufTensor& found, WeightTensor& tensor) {
  const FileView& view = gguf.shards()[static_cast<size_t>(found.shard)];
  for (uint64_t row = 0; row < tensor.ne[1];) {
    const uint64_t offset = row * tensor.row_bytes;
    const uint64_t run = view.run(found.offset + offset, tensor.bytes - offset);
    const uint64_t rows = std::max<uint64_t>(1, run / tensor.row_bytes);
    const uint8_t* const data = gguf.contiguous(found, offset, rows * tensor.row_bytes);
    tensor.stretches.push_back({row, data});
    row += rows;
  }
}

Result<WeightTensor> OpenedGguf::load(const ExpectedTensor& expected) {
  const GgufTensor* found = gguf.tensor(expected.name);
  const size_t shard = found == nullptr ? 0 : static_cast<size_t>(found->shard);
  const FileView& view = gguf.shards()[shard];
  const std::string wrong = found == nullptr ? "missing" : defect(*found, expected);
  if (!wrong.empty()) {
    return Status(Code::kLoad, view.path() + ": tensor " + expected.name + ": " + wrong);
  }
  const FileView::Place begin = view.place(found->offset);
  WeightTensor tensor;
  tensor.format = found->format;
  tensor.ne = expected.ne;
  tensor.file = first_files_[shard] + static_cast<int>(begin.part);
  tensor.offset = begin.offset;
  tensor.bytes = found->bytes;
  tensor.row_bytes = found->bytes / expected.ne[1];
  if (expected.role == Role::kEngramEmbed) {
    tensor.data = found->data;
    if (tensor.data == nullptr) place_rows(*found, tensor);
    return tensor;
  }
  tensor.data = gguf.contiguous(*found, 0, found->bytes);
  // A raw part of any length may leave floats off their natural addresses.
  const bool odd = reinterpret_cast<uintptr_t>(tensor.data) % alignof(float) != 0;
  if (role_is_f32(expected.role) && (found->format != Format::kF32 || odd)) {
    std::vector<float>& floats = decoded_.emplace_back(expected.ne[0] * expected.ne[1]);
    decode_row(found->format, tensor.data, floats.data(), floats.size());
    tensor.format = Format::kF32;
    tensor.data = reinterpret_cast<const uint8_t*>(floats.data());
    tensor.bytes = floats.size() * sizeof(float);
    tensor.row_bytes = expected.ne[0] * sizeof(float);
  }
  return tensor;
}

Status OpenedGguf::find(const ExpectedTensor& expected, int layers) {
  tensors_.resize(static_cast<size_t>(layers + 1) * kRoles);
  ROTA_ASSIGN_OR_RETURN(tensors_[place_of(expected.role, expected.layer)], load(expected));
  return Status();
}

Status OpenedGguf::find_experts(const Config& config, int layers, int experts) {
  for (int layer = 0; layer < layers; ++layer) {
    ROTA_ASSIGN_OR_RETURN(std::vector<ExpertBlob> blobs,
                          find_expert_blobs(gguf, first_files_, config, layer, experts));
    experts_.push_back(std::move(blobs));
  }
  return Status();
}

const WeightTensor& OpenedGguf::tensor(Role role, int layer) const {
  const size_t place = place_of(role, layer);
  ROTA_CHECK(layer >= -1 && place < tensors_.size() && tensors_[place].file >= 0, role_suffix(role),
             "layer", layer);
  return tensors_[place];
}

uint64_t OpenedGguf::expert_bytes() const {
  uint64_t bytes = 0;
  for (const auto& layer : experts_) {
    for (const ExpertBlob& blob : layer) bytes += blob.bytes;
  }
  return bytes;
}

}  // namespace rota
