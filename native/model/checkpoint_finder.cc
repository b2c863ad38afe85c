// What each matrix's tensors must be, and the looking up.
#include "model/checkpoint_finder.h"

#include <filesystem>
#include <utility>

namespace rota {
namespace {

constexpr uint64_t kBlock = 32;

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text;
  for (const uint64_t dim : shape) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return "[" + text + "]";
}

Format exact_format(Stored stored, bool f32_role) {
  switch (stored) {
    case Stored::kF32:
      return Format::kF32;
    case Stored::kBF16:
      return f32_role ? Format::kF32 : Format::kBF16;
    case Stored::kFp8Tiles:
    case Stored::kFp8Rows:
      return Format::kMXFP8;
    case Stored::kFp4:
      return Format::kMXFP4;
  }
  return Format::kF32;
}

// A matrix of one row may be stored as a vector.
bool same_shape(const std::vector<uint64_t>& found, const std::vector<uint64_t>& wanted) {
  if (found == wanted) return true;
  return wanted[0] == 1 && found.size() == 1 && found[0] == wanted[1];
}

}  // namespace

CheckpointMatrix implied_matrix(const ExpectedTensor& expected, bool draft, int stages) {
  CheckpointMatrix m;
  m.name = draft ? draft_name(expected.role, expected.layer, stages)
                 : target_name(expected.role, expected.layer);
  m.model_name = expected.name;
  m.stored = stored_as(expected.role);
  m.format = exact_format(m.stored, role_is_f32(expected.role));
  m.columns = expected.ne[0];
  m.rows = expected.ne[1];
  m.draft = draft;
  m.layer = expected.layer;
  m.role = expected.role;
  return m;
}

CheckpointMatrix implied_expert(const Config& c, bool draft, int layer, int expert,
                                ExpertPart part) {
  const auto dim = static_cast<uint64_t>(c.dim), inter = static_cast<uint64_t>(c.moe_inter);
  const bool down = part == ExpertPart::kDown;
  CheckpointMatrix m;
  m.name = draft ? draft_expert_name(layer, expert, part) : target_expert_name(layer, expert, part);
  m.stored = Stored::kFp4;
  m.format = exact_format(m.stored, false);
  m.columns = down ? inter : dim;
  m.rows = down ? dim : inter;
  m.draft = draft;
  m.layer = layer;
  m.expert = expert;
  m.part = part;
  return m;
}

// What one tensor must be. The first of the types is the release's.
struct CheckpointFinder::Wanted {
  std::string name;
  std::vector<const char*> dtypes;
  std::vector<uint64_t> shape;
};

CheckpointFinder::Wanted CheckpointFinder::wanted_values(const CheckpointMatrix& m) {
  switch (m.stored) {
    case Stored::kF32:
      return {m.name, {"F32"}, {m.rows, m.columns}};
    case Stored::kBF16:
      return {m.name, {"BF16"}, {m.rows, m.columns}};
    case Stored::kFp8Tiles:
    case Stored::kFp8Rows:
      return {m.name + ".weight", {"F8_E4M3"}, {m.rows, m.columns}};
    case Stored::kFp4:
      return {m.name + ".weight", {"I8", "U8"}, {m.rows, m.columns / 2}};
  }
  return {};
}

CheckpointFinder::Wanted CheckpointFinder::wanted_scales(const CheckpointMatrix& m) {
  const uint64_t rows = m.stored == Stored::kFp8Tiles ? (m.rows + kBlock - 1) / kBlock : m.rows;
  return {m.name + ".scale", {"F8_E8M0", "U8"}, {rows, m.columns / kBlock}};
}

CheckpointFinder::CheckpointFinder(const CheckpointIndex& index, const std::string& index_path)
    : index_(index), index_path_(index_path) {}

Status CheckpointFinder::open_shards() {
  const std::filesystem::path folder = std::filesystem::path(index_path_).parent_path();
  for (const auto& [tensor, name] : index_) {
    if (has_shard(name)) continue;
    Result<Safetensors> opened = Safetensors::open((folder / name).string());
    if (!opened.ok()) {
      return Status(Code::kLoad,
                    opened.status().message() + "; by the index it has tensor " + tensor);
    }
    add_shard(name, std::move(opened).value());
  }
  return Status();
}

void CheckpointFinder::add_shard(const std::string& name, Safetensors file) {
  Shard& shard = by_name_[name];
  shard.file = &shards_.emplace_back(std::move(file));
  for (const SafetensorsTensor& held : shard.file->tensors()) {
    shard.tensors.emplace(held.name, &held);
  }
}

Status CheckpointFinder::find(CheckpointMatrix& matrix) {
  if (has_scales(matrix.stored) && matrix.columns % kBlock != 0) {
    return Status(Code::kLoad, index_path_ + ": tensor " + matrix.name + " has rows of " +
                                   std::to_string(matrix.columns) +
                                   " weights by config.json, which is no multiple of 32");
  }
  ROTA_RETURN_IF_ERROR(find_one(wanted_values(matrix), matrix.values_in, matrix.values));
  if (!has_scales(matrix.stored)) return Status();
  return find_one(wanted_scales(matrix), matrix.scales_in, matrix.scales);
}

Status CheckpointFinder::find_one(const Wanted& wanted, const Safetensors*& file,
                                  const SafetensorsTensor*& tensor) {
  const auto entry = index_.find(wanted.name);
  if (entry == index_.end()) {
    return Status(Code::kLoad,
                  index_path_ + ": names no tensor " + wanted.name + ", which config.json implies");
  }
  const Shard& shard = by_name_.at(entry->second);
  const auto fail = [&](const std::string& message) {
    return Status(Code::kLoad, shard.file->path() + ": tensor " + wanted.name + ": " + message);
  };
  const auto held = shard.tensors.find(wanted.name);
  if (held == shard.tensors.end()) return fail("missing, by the index it is in this file");
  const SafetensorsTensor& found = *held->second;
  bool right = false;
  for (const char* dtype : wanted.dtypes) right = right || found.dtype == dtype;
  if (!right) return fail("is " + found.dtype + ", expected " + wanted.dtypes.front());
  if (!same_shape(found.shape, wanted.shape)) {
    return fail("shape " + shape_text(found.shape) + ", expected " + shape_text(wanted.shape));
  }
  file = shard.file;
  tensor = &found;
  taken_.insert(entry->first);
  return Status();
}

Result<uint64_t> CheckpointFinder::ignored() const {
  uint64_t count = 0;
  for (const auto& [tensor, name] : index_) {
    if (taken_.contains(tensor)) continue;
    if (!is_of_vision(tensor)) {
      return Status(Code::kLoad, index_path_ + ": tensor " + tensor + " in " + name +
                                     " is none that config.json implies");
    }
    ++count;
  }
  return count;
}

}  // namespace rota
