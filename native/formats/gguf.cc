// Opening of whole and split files, and the typed getters; bytes are parsed in gguf_parser.cc.
#include "formats/gguf.h"

#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "formats/gguf_parser.h"
#include "formats/shard_name.h"

namespace rota {
namespace {

// The integer at `payload`, widened; all integer types fit a signed 128-bit number.
__int128 load_integer(GgufType type, const uint8_t* payload) {
  const auto load = [payload]<typename T>(T value) {
    std::memcpy(&value, payload, sizeof(T));
    return static_cast<__int128>(value);
  };
  switch (type) {
    case GgufType::kU8:
      return load(uint8_t{});
    case GgufType::kI8:
      return load(int8_t{});
    case GgufType::kU16:
      return load(uint16_t{});
    case GgufType::kI16:
      return load(int16_t{});
    case GgufType::kU32:
      return load(uint32_t{});
    case GgufType::kI32:
      return load(int32_t{});
    case GgufType::kI64:
      return load(int64_t{});
    default:
      return load(uint64_t{});
  }
}

bool is_integer(GgufType type) {
  return type != GgufType::kF32 && type != GgufType::kF64 && type != GgufType::kBool &&
         type != GgufType::kString && type != GgufType::kArray;
}

bool is_float(GgufType type) { return type == GgufType::kF32 || type == GgufType::kF64; }

float load_float(GgufType type, const uint8_t* payload) {
  if (type == GgufType::kF64) {
    double value;
    std::memcpy(&value, payload, sizeof(value));
    return static_cast<float>(value);
  }
  float value;
  std::memcpy(&value, payload, sizeof(value));
  return value;
}

// The string at *payload; moves past it. The parser has checked the lengths.
std::string take_string(const uint8_t** payload) {
  uint64_t length;
  std::memcpy(&length, *payload, sizeof(length));
  std::string text(reinterpret_cast<const char*>(*payload + 8), length);
  *payload += 8 + length;
  return text;
}

std::string described(const GgufValue& value) {
  if (value.type != GgufType::kArray) return gguf_type_name(value.type);
  return std::string("an array of ") + gguf_type_name(value.element);
}

}  // namespace

const char* gguf_type_name(GgufType type) {
  constexpr const char* kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                    "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<uint32_t>(type)];
}

Result<Gguf> Gguf::open_one(const std::string& path, int shard) {
  ROTA_ASSIGN_OR_RETURN(FileView file, FileView::open(path));
  return read_one(std::move(file), shard);
}

Result<Gguf> Gguf::read_one(FileView file, int shard) {
  Gguf gguf;
  gguf.shards_.push_back(std::move(file));
  ROTA_ASSIGN_OR_RETURN(GgufHeader header, parse_gguf_header(gguf.shards_.back(), shard));
  for (const auto& [key, value] : header.keys) {
    if (!gguf.values_.emplace(key, value).second) return gguf.key_error(key, "appears twice");
    gguf.key_order_.push_back(key);
  }
  ROTA_RETURN_IF_ERROR(gguf.take_tensors(std::move(header.tensors)));
  return gguf;
}

Status Gguf::take_tensors(std::vector<GgufTensor> tensors) {
  for (GgufTensor& tensor : tensors) {
    if (!tensor_index_.emplace(tensor.name, tensors_.size()).second) {
      return Status(Code::kLoad,
                    shards_.back().path() + ": tensor " + tensor.name + " appears twice");
    }
    tensors_.push_back(std::move(tensor));
  }
  return Status();
}

Status Gguf::check_split(int shard, int count) const {
  ROTA_ASSIGN_OR_RETURN(const int32_t split_count, i32("split.count"));
  ROTA_ASSIGN_OR_RETURN(const int32_t split_no, i32("split.no"));
  if (split_count == count && split_no == shard) return Status();
  return key_error("split.no", "the file says it is part " + std::to_string(split_no) + " of " +
                                   std::to_string(split_count) + ", its name says part " +
                                   std::to_string(shard) + " of " + std::to_string(count) +
                                   " (both from 0)");
}

Status Gguf::check_tensor_count(int count) const {
  ROTA_ASSIGN_OR_RETURN(const uint64_t promised, u64("split.tensors.count"));
  if (promised == tensors_.size()) return Status();
  return key_error("split.tensors.count", "promises " + std::to_string(promised) +
                                              " tensors, the " + std::to_string(count) +
                                              " files have " + std::to_string(tensors_.size()));
}

Result<Gguf> Gguf::read(FileView file) {
  ROTA_ASSIGN_OR_RETURN(Gguf gguf, read_one(std::move(file), 0));
  if (!gguf.has("split.count")) return gguf;
  ROTA_RETURN_IF_ERROR(gguf.check_split(0, 1));
  ROTA_RETURN_IF_ERROR(gguf.check_tensor_count(1));
  return gguf;
}

Result<Gguf> Gguf::open(const std::string& path) {
  const std::optional<ShardName> name = parse_shard_name(without_part_suffix(path));
  if (!name) {
    ROTA_ASSIGN_OR_RETURN(FileView file, FileView::open(path));
    return read(std::move(file));
  }
  ROTA_ASSIGN_OR_RETURN(Gguf gguf, open_one(shard_path(*name, 0), 0));
  ROTA_RETURN_IF_ERROR(gguf.check_split(0, name->count));
  for (int shard = 1; shard < name->count; ++shard) {
    ROTA_ASSIGN_OR_RETURN(Gguf part, open_one(shard_path(*name, shard), shard));
    ROTA_RETURN_IF_ERROR(part.check_split(shard, name->count));
    gguf.shards_.push_back(std::move(part.shards_.front()));
    ROTA_RETURN_IF_ERROR(gguf.take_tensors(std::move(part.tensors_)));
  }
  ROTA_RETURN_IF_ERROR(gguf.check_tensor_count(name->count));
  return gguf;
}

const GgufTensor* Gguf::tensor(std::string_view name) const {
  const auto found = tensor_index_.find(std::string(name));
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

const GgufValue* Gguf::find(std::string_view key) const {
  const auto found = values_.find(std::string(key));
  return found == values_.end() ? nullptr : &found->second;
}

Status Gguf::key_error(std::string_view key, const std::string& message) const {
  return Status(Code::kLoad, shards_.front().path() + ": key " + std::string(key) + ": " + message);
}

Result<const GgufValue*> Gguf::require(std::string_view key, bool array) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return key_error(key, "missing");
  if ((value->type == GgufType::kArray) != array) {
    return key_error(key, std::string(array ? "expected an array" : "expected one value") +
                              ", found " + described(*value));
  }
  return value;
}

template <typename T>
Result<std::vector<T>> Gguf::integers(std::string_view key) const {
  const bool array = true;
  ROTA_ASSIGN_OR_RETURN(const GgufValue* value, require(key, array));
  if (!is_integer(value->element)) {
    return key_error(key, "expected integers, found " + described(*value));
  }
  const uint64_t each = gguf_type_bytes(value->element);
  std::vector<T> out;
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const __int128 wide = load_integer(value->element, value->payload + i * each);
    if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) {
      return key_error(key, "value " + std::to_string(i) + " is out of range");
    }
    out.push_back(static_cast<T>(wide));
  }
  return out;
}

template <typename T>
Result<T> Gguf::integer(std::string_view key) const {
  const bool array = false;
  ROTA_ASSIGN_OR_RETURN(const GgufValue* value, require(key, array));
  if (!is_integer(value->type)) {
    return key_error(key, "expected an integer, found " + described(*value));
  }
  const __int128 wide = load_integer(value->type, value->payload);
  if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) {
    return key_error(key, "the value is out of range");
  }
  return static_cast<T>(wide);
}

Result<uint32_t> Gguf::u32(std::string_view key) const { return integer<uint32_t>(key); }
Result<int32_t> Gguf::i32(std::string_view key) const { return integer<int32_t>(key); }
Result<uint64_t> Gguf::u64(std::string_view key) const { return integer<uint64_t>(key); }
Result<int64_t> Gguf::i64(std::string_view key) const { return integer<int64_t>(key); }
Result<std::vector<int32_t>> Gguf::i32_array(std::string_view key) const {
  return integers<int32_t>(key);
}
Result<std::vector<int64_t>> Gguf::i64_array(std::string_view key) const {
  return integers<int64_t>(key);
}

Result<float> Gguf::f32(std::string_view key) const {
  ROTA_ASSIGN_OR_RETURN(const GgufValue* value, require(key, false));
  if (!is_float(value->type)) return key_error(key, "expected a float, found " + described(*value));
  return load_float(value->type, value->payload);
}

Result<bool> Gguf::boolean(std::string_view key) const {
  ROTA_ASSIGN_OR_RETURN(const GgufValue* value, require(key, false));
  if (value->type != GgufType::kBool) {
    return key_error(key, "expected a bool, found " + described(*value));
  }
  return value->payload[0] != 0;
}

Result<std::string> Gguf::string(std::string_view key) const {
  ROTA_ASSIGN_OR_RETURN(const GgufValue* value, require(key, false));
  if (value->type != GgufType::kString) {
    return key_error(key, "expected a string, found " + described(*value));
  }
  const uint8_t* payload = value->payload;
  return take_string(&payload);
}

Result<std::vector<float>> Gguf::f32_array(std::string_view key) const {
  ROTA_ASSIGN_OR_RETURN(const GgufValue* value, require(key, true));
  if (!is_float(value->element)) {
    return key_error(key, "expected floats, found " + described(*value));
  }
  const uint64_t each = gguf_type_bytes(value->element);
  std::vector<float> out;
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    out.push_back(load_float(value->element, value->payload + i * each));
  }
  return out;
}

Result<std::vector<std::string>> Gguf::string_array(std::string_view key) const {
  ROTA_ASSIGN_OR_RETURN(const GgufValue* value, require(key, true));
  if (value->element != GgufType::kString) {
    return key_error(key, "expected strings, found " + described(*value));
  }
  std::vector<std::string> out;
  out.reserve(value->count);
  const uint8_t* payload = value->payload;
  for (uint64_t i = 0; i < value->count; ++i) out.push_back(take_string(&payload));
  return out;
}

}  // namespace rota
