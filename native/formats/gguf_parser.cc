// The bounds-checked walk over one file's header.
#include "formats/gguf_parser.h"

#include <cstring>
#include <utility>

namespace rota {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kVersion = 3;
constexpr uint32_t kDefaultAlignment = 32;
constexpr uint64_t kLongestName = 65535;

bool is_type(uint32_t number) { return number <= static_cast<uint32_t>(GgufType::kF64); }

// a * b; false when it does not fit 64 bits.
bool multiply(uint64_t a, uint64_t b, uint64_t* out) { return !__builtin_mul_overflow(a, b, out); }

class Parser {
 public:
  Parser(FileView& file, int shard) : file_(file), shard_(shard) {}

  Result<GgufHeader> parse() {
    uint64_t tensor_count = 0, key_count = 0;
    ROTA_RETURN_IF_ERROR(read_preamble(&tensor_count, &key_count));
    for (uint64_t i = 0; i < key_count; ++i) ROTA_RETURN_IF_ERROR(read_key());
    for (uint64_t i = 0; i < tensor_count; ++i) ROTA_RETURN_IF_ERROR(read_tensor());
    ROTA_RETURN_IF_ERROR(place_tensors());
    return std::move(header_);
  }

 private:
  Status fail(uint64_t offset, const std::string& message) const {
    return Status(Code::kLoad,
                  file_.path() + ": offset " + std::to_string(offset) + ": " + message);
  }

  // Steps over `bytes` bytes of the header, or an error that says what was being read.
  Status skip(uint64_t bytes, const char* what) {
    if (bytes > file_.size() - position_) {
      return fail(position_, std::string("the file ends inside ") + what + " (" +
                                 std::to_string(bytes) + " bytes needed, " +
                                 std::to_string(file_.size() - position_) + " left)");
    }
    position_ += bytes;
    return Status();
  }

  Result<const uint8_t*> take(uint64_t bytes, const char* what) {
    const uint64_t start = position_;
    ROTA_RETURN_IF_ERROR(skip(bytes, what));
    return file_.at(start, bytes);
  }

  template <typename T>
  Status read(T* out, const char* what) {
    ROTA_ASSIGN_OR_RETURN(const uint8_t* data, take(sizeof(T), what));
    std::memcpy(out, data, sizeof(T));
    return Status();
  }

  // A count that cannot be right, however small its items are, is refused before anything is made
  // of it.
  Status check_count(uint64_t count, uint64_t least_bytes, const char* what) const {
    if (count <= (file_.size() - position_) / least_bytes) return Status();
    return fail(position_, "the header claims " + std::to_string(count) + " " + what +
                               ", more than the file can hold");
  }

  Status read_preamble(uint64_t* tensor_count, uint64_t* key_count) {
    uint32_t magic = 0, version = 0;
    ROTA_RETURN_IF_ERROR(read(&magic, "the magic"));
    if (magic != kMagic) return fail(0, "not a GGUF file (it does not begin with \"GGUF\")");
    ROTA_RETURN_IF_ERROR(read(&version, "the version"));
    if (version == __builtin_bswap32(kVersion)) return fail(4, "big-endian GGUF is not supported");
    if (version != kVersion) {
      return fail(4, "GGUF version " + std::to_string(version) + ", only 3 is supported");
    }
    ROTA_RETURN_IF_ERROR(read(tensor_count, "the tensor count"));
    ROTA_RETURN_IF_ERROR(read(key_count, "the key count"));
    constexpr uint64_t kLeastKey = 8 + 1 + 4 + 1, kLeastTensor = 8 + 1 + 4 + 8 + 4 + 8;
    ROTA_RETURN_IF_ERROR(check_count(*key_count, kLeastKey, "keys"));
    return check_count(*tensor_count, kLeastTensor, "tensors");
  }

  Result<std::string> read_name(const char* what) {
    const uint64_t start = position_;
    uint64_t length = 0;
    ROTA_RETURN_IF_ERROR(read(&length, what));
    if (length == 0 || length > kLongestName) {
      return fail(start, std::string(what) + " has " + std::to_string(length) + " characters");
    }
    ROTA_ASSIGN_OR_RETURN(const uint8_t* text, take(length, what));
    return std::string(reinterpret_cast<const char*>(text), length);
  }

  Status skip_strings(uint64_t count, const char* what) {
    ROTA_RETURN_IF_ERROR(check_count(count, 8, "strings"));
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t length = 0;
      ROTA_RETURN_IF_ERROR(read(&length, what));
      ROTA_RETURN_IF_ERROR(skip(length, what));
    }
    return Status();
  }

  Result<GgufType> read_type(const std::string& key) {
    const uint64_t start = position_;
    uint32_t number = 0;
    ROTA_RETURN_IF_ERROR(read(&number, "a value type"));
    if (is_type(number)) return static_cast<GgufType>(number);
    return fail(start, "key " + key + " has unknown value type " + std::to_string(number));
  }

  Status read_key() {
    ROTA_ASSIGN_OR_RETURN(const std::string key, read_name("a key"));
    GgufValue value;
    ROTA_ASSIGN_OR_RETURN(value.type, read_type(key));
    value.element = value.type;
    if (value.type == GgufType::kArray) {
      ROTA_ASSIGN_OR_RETURN(value.element, read_type(key));
      ROTA_RETURN_IF_ERROR(read(&value.count, "an array length"));
      if (value.element == GgufType::kArray) {
        return fail(position_, "key " + key + " is an array of arrays");
      }
    }
    const uint64_t payload_start = position_;
    if (value.element == GgufType::kString) {
      ROTA_RETURN_IF_ERROR(skip_strings(value.count, "a string value"));
    } else {
      const uint64_t each = gguf_type_bytes(value.element);
      ROTA_RETURN_IF_ERROR(check_count(value.count, each, "array values"));
      ROTA_RETURN_IF_ERROR(skip(value.count * each, "a value"));
    }
    value.bytes = position_ - payload_start;
    value.payload = file_.at(payload_start, value.bytes);
    if (value.element == GgufType::kBool) {
      for (uint64_t i = 0; i < value.count; ++i) {
        if (value.payload[i] > 1) return fail(position_, "key " + key + " holds a bad boolean");
      }
    }
    if (key == "general.alignment") ROTA_RETURN_IF_ERROR(set_alignment(value));
    header_.keys.emplace_back(key, value);
    return Status();
  }

  Status set_alignment(const GgufValue& value) {
    uint32_t alignment = 0;
    if (value.type == GgufType::kU32) std::memcpy(&alignment, value.payload, 4);
    if (alignment < 8 || (alignment & (alignment - 1)) != 0) {
      return fail(position_, "general.alignment must be a u32, a power of two and at least 8");
    }
    alignment_ = alignment;
    return Status();
  }

  Status read_tensor() {
    GgufTensor tensor;
    tensor.shard = shard_;
    ROTA_ASSIGN_OR_RETURN(tensor.name, read_name("a tensor name"));
    const uint64_t start = position_;
    const auto wrong = [&](const std::string& why) {
      return fail(start, "tensor " + tensor.name + why);
    };
    uint32_t dims = 0, type = 0;
    ROTA_RETURN_IF_ERROR(read(&dims, "a tensor's dimensions"));
    if (dims < 1 || dims > 4) return wrong(" has " + std::to_string(dims) + " dimensions");
    tensor.dims = static_cast<int>(dims);
    for (uint32_t i = 0; i < dims; ++i) {
      ROTA_RETURN_IF_ERROR(read(&tensor.ne[i], "a tensor's dimensions"));
      if (tensor.ne[i] == 0) return wrong(" has a dimension of 0");
    }
    ROTA_RETURN_IF_ERROR(read(&type, "a tensor's type"));
    ROTA_RETURN_IF_ERROR(read(&tensor.offset, "a tensor's offset"));
    const FormatInfo* info = format_info(type);
    if (info == nullptr) {
      return wrong(" has ggml type " + std::to_string(type) + " (" + ggml_type_name(type) +
                   "), which is not supported");
    }
    tensor.format = info->format;
    const auto row = row_bytes(info->format, tensor.ne[0]);
    if (!row.ok()) return wrong(": " + row.status().message());
    tensor.bytes = row.value();
    for (uint32_t i = 1; i < dims; ++i) {
      if (!multiply(tensor.bytes, tensor.ne[i], &tensor.bytes)) {
        return wrong(" is larger than 2^64 bytes");
      }
    }
    if (tensor.offset % alignment_ != 0 && misaligned_.empty()) misaligned_ = tensor.name;
    header_.tensors.push_back(std::move(tensor));
    return Status();
  }

  std::string truncated() const {
    if (file_.parts().size() == 1) return " (is the file truncated?)";
    return " (is " + file_.parts().back().path() + " truncated, or a part behind it missing?)";
  }

  // Offsets in the header count from the data section, which starts at the next alignment boundary.
  Status place_tensors() {
    if (!misaligned_.empty()) {
      return fail(position_,
                  "tensor " + misaligned_ + " is not aligned to " + std::to_string(alignment_));
    }
    const uint64_t start = (position_ + alignment_ - 1) / alignment_ * alignment_;
    for (GgufTensor& tensor : header_.tensors) {
      const uint64_t room = file_.size() > start ? file_.size() - start : 0;
      if (tensor.offset > room || tensor.bytes > room - tensor.offset) {
        return fail(start, "tensor " + tensor.name + " needs " + std::to_string(tensor.bytes) +
                               " bytes at data offset " + std::to_string(tensor.offset) +
                               ", the data section has " + std::to_string(room) + truncated());
      }
      tensor.offset += start;
      tensor.data = file_.within(tensor.offset, tensor.bytes);
    }
    return Status();
  }

  FileView& file_;
  const int shard_;
  uint64_t position_ = 0;
  uint32_t alignment_ = kDefaultAlignment;
  std::string misaligned_;
  GgufHeader header_;
};

}  // namespace

uint64_t gguf_type_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      return 0;
  }
  return 0;
}

Result<GgufHeader> parse_gguf_header(FileView& file, int shard) {
  return Parser(file, shard).parse();
}

}  // namespace rota
