// Reading and checking of the JSON header.
#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace rota {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kLargestHeader = uint64_t{100} << 20;  // the format's own limit
constexpr size_t kMostDimensions = 8;

// Bytes of an element; 0 for types that are not known here, whose sizes stay unchecked.
uint64_t dtype_bytes(const std::string& dtype) {
  static constexpr std::pair<const char*, uint64_t> kSizes[] = {
      {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"I8", 1},  {"U8", 1},  {"BOOL", 1},
      {"F16", 2},     {"BF16", 2},    {"I16", 2},     {"U16", 2}, {"F32", 4}, {"I32", 4},
      {"U32", 4},     {"F64", 8},     {"I64", 8},     {"U64", 8}};
  for (const auto& [name, bytes] : kSizes) {
    if (dtype == name) return bytes;
  }
  return 0;
}

bool is_count(const Json& value) { return value.is_number_unsigned(); }

// Empty when the entry is right; fills everything but the name, offsets still from the data's
// start.
std::string read_entry(const Json& entry, uint64_t data_bytes, SafetensorsTensor& tensor) {
  if (!entry.is_object()) return "is no object";
  const auto dtype = entry.find("dtype"), shape = entry.find("shape"),
             place = entry.find("data_offsets");
  if (dtype == entry.end() || !dtype->is_string()) return "has no dtype";
  if (shape == entry.end() || !shape->is_array() || shape->size() > kMostDimensions) {
    return "has no shape of at most 8 dimensions";
  }
  if (place == entry.end() || !place->is_array() || place->size() != 2 || !is_count((*place)[0]) ||
      !is_count((*place)[1])) {
    return "has no data_offsets of two numbers";
  }
  tensor.dtype = dtype->get<std::string>();
  uint64_t expected = dtype_bytes(tensor.dtype);
  const bool known = expected != 0;
  for (const Json& dim : *shape) {
    if (!is_count(dim)) return "has a dimension that is no number";
    tensor.shape.push_back(dim.get<uint64_t>());
    if (__builtin_mul_overflow(expected, tensor.shape.back(), &expected)) {
      return "is larger than 2^64 bytes";
    }
  }
  const uint64_t begin = (*place)[0].get<uint64_t>(), end = (*place)[1].get<uint64_t>();
  if (begin > end || end > data_bytes) {
    return "is at " + std::to_string(begin) + " to " + std::to_string(end) + ", the file has " +
           std::to_string(data_bytes) + " bytes of data (is it truncated?)";
  }
  tensor.offset = begin;
  tensor.bytes = end - begin;
  if (known && tensor.bytes != expected) {
    return "has " + std::to_string(tensor.bytes) + " bytes, its shape of " + tensor.dtype +
           " needs " + std::to_string(expected);
  }
  return "";
}

// The JSON of the header; discarded when it is none, or when a name is there twice.
Json parse_json(std::string_view header, std::string& twice) {
  std::set<std::string> names;
  const auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1 &&
        !names.insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  return Json::parse(header, callback, false);
}

Status check_long_enough(const std::string& path, uint64_t file_bytes) {
  if (file_bytes >= kLengthBytes) return Status();
  return Status(Code::kLoad, path + ": too short for a safetensors file");
}

// Of the header, from the bytes that the file begins with.
Result<uint64_t> header_length(const std::string& path, const void* first, uint64_t file_bytes) {
  uint64_t length = 0;
  std::memcpy(&length, first, kLengthBytes);
  if (length <= kLargestHeader && length <= file_bytes - kLengthBytes) return length;
  return Status(Code::kLoad, path + ": the header claims " + std::to_string(length) +
                                 " bytes, the file has " + std::to_string(file_bytes) +
                                 " (is it a safetensors file, and whole?)");
}

}  // namespace

Result<Safetensors> Safetensors::open(const std::string& path) {
  ROTA_ASSIGN_OR_RETURN(DirectFile file, DirectFile::open(path));
  ROTA_RETURN_IF_ERROR(check_long_enough(path, file.size()));
  std::string head(kLengthBytes, '\0');
  ROTA_RETURN_IF_ERROR(file.read(0, kLengthBytes, head.data()));
  ROTA_ASSIGN_OR_RETURN(const uint64_t length, header_length(path, head.data(), file.size()));
  head.resize(kLengthBytes + length);
  ROTA_RETURN_IF_ERROR(file.read(kLengthBytes, length, head.data() + kLengthBytes));
  ROTA_ASSIGN_OR_RETURN(Safetensors opened, read(path, head, file.size()));
  opened.file_ = std::move(file);
  return opened;
}

Result<Safetensors> Safetensors::read(const std::string& path, std::string_view head,
                                      uint64_t file_bytes) {
  ROTA_RETURN_IF_ERROR(check_long_enough(path, file_bytes));
  const Status cut(Code::kLoad, path + ": the header is cut");
  if (head.size() < kLengthBytes) return cut;
  ROTA_ASSIGN_OR_RETURN(const uint64_t length, header_length(path, head.data(), file_bytes));
  if (head.size() - kLengthBytes < length) return cut;
  Safetensors read;
  read.path_ = path;
  const std::string_view header = head.substr(kLengthBytes, length);
  ROTA_RETURN_IF_ERROR(read.parse(header, file_bytes - kLengthBytes - length));
  for (SafetensorsTensor& tensor : read.tensors_) tensor.offset += kLengthBytes + length;
  return read;
}

Status Safetensors::parse(std::string_view header, uint64_t data_bytes) {
  const auto fail = [&](const std::string& message) {
    return Status(Code::kLoad, path() + ": " + message);
  };
  std::string twice;
  const Json json = parse_json(header, twice);
  if (json.is_discarded() || !json.is_object()) return fail("the header is no JSON object");
  if (!twice.empty()) return fail("tensor " + twice + " is there twice");
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") continue;
    SafetensorsTensor tensor;
    tensor.name = name;
    const std::string wrong = read_entry(entry, data_bytes, tensor);
    if (!wrong.empty()) return fail("tensor " + name + " " + wrong);
    tensors_.push_back(std::move(tensor));
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const auto& a, const auto& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  for (size_t i = 1; i < tensors_.size(); ++i) {
    const SafetensorsTensor& before = tensors_[i - 1];
    if (before.offset + before.bytes > tensors_[i].offset) {
      return fail("tensors " + before.name + " and " + tensors_[i].name + " overlap");
    }
  }
  return Status();
}

const SafetensorsTensor* Safetensors::tensor(std::string_view name) const {
  for (const SafetensorsTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace rota
