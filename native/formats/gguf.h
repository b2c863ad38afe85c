// GGUF v3 files, split or not, mapped and checked. Every count, length and offset of a header is
// refused when it does not fit the file. Knows the container; knows nothing of models.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "formats/block.h"
#include "formats/file_view.h"

namespace rota {

enum class GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};
const char* gguf_type_name(GgufType type);

struct GgufTensor {
  std::string name;
  Format format = Format::kF32;
  int dims = 0;
  std::array<uint64_t, 4> ne = {1, 1, 1, 1};  // ne[0] is the row length; unused ones are 1
  int shard = 0;                              // index into Gguf::shards()
  uint64_t offset = 0;                        // absolute, in that file
  uint64_t bytes = 0;
  const uint8_t* data = nullptr;  // in the mapping; nullptr when it straddles raw parts
};

// A key's value, still in the file: validated when the file was opened, decoded when asked for.
struct GgufValue {
  GgufType type = GgufType::kU8;     // kArray for arrays
  GgufType element = GgufType::kU8;  // of an array; else same as type
  uint64_t count = 1;
  const uint8_t* payload = nullptr;
  uint64_t bytes = 0;  // of the payload
};

class Gguf {
 public:
  // PATH may be a whole file or any shard NAME-00001-of-0000N.gguf, and either may lie in raw parts
  // (file_view.h); the others are found beside it. Every error is kLoad, one line: file, what, and
  // the offset in the header.
  static Result<Gguf> open(const std::string& path);
  // One file that is open and is not split.
  static Result<Gguf> read(FileView file);

  const std::vector<FileView>& shards() const { return shards_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* tensor(std::string_view name) const;  // nullptr when absent
  // `bytes` from `offset` on of a tensor, in one piece: copied, and kept, when they straddle raw
  // parts. Not thread-safe.
  const uint8_t* contiguous(const GgufTensor& tensor, uint64_t offset, uint64_t bytes) {
    return shards_[static_cast<size_t>(tensor.shard)].at(tensor.offset + offset, bytes);
  }

  const std::vector<std::string>& keys() const { return key_order_; }
  const GgufValue* find(std::string_view key) const;  // nullptr when absent
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Typed getters: kLoad naming file and key when absent, of another kind, or out of the type's
  // range. Any integer width is accepted where the value fits.
  Result<uint32_t> u32(std::string_view key) const;
  Result<int32_t> i32(std::string_view key) const;
  Result<uint64_t> u64(std::string_view key) const;
  Result<int64_t> i64(std::string_view key) const;
  Result<float> f32(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;
  Result<std::vector<int32_t>> i32_array(std::string_view key) const;
  Result<std::vector<int64_t>> i64_array(std::string_view key) const;
  Result<std::vector<float>> f32_array(std::string_view key) const;
  Result<std::vector<std::string>> string_array(std::string_view key) const;

  // "FILE: key KEY: MESSAGE", for checks made by the callers.
  Status key_error(std::string_view key, const std::string& message) const;

 private:
  static Result<Gguf> open_one(const std::string& path, int shard);
  static Result<Gguf> read_one(FileView file, int shard);
  // The first of `count` files, once all are taken: it says how many tensors they have together.
  Status check_tensor_count(int count) const;
  // Appends them, refusing a name that is there already.
  Status take_tensors(std::vector<GgufTensor> tensors);
  // The file's own split keys against its place in the name.
  Status check_split(int shard, int count) const;
  Result<const GgufValue*> require(std::string_view key, bool array) const;
  template <typename T>
  Result<T> integer(std::string_view key) const;
  template <typename T>
  Result<std::vector<T>> integers(std::string_view key) const;

  std::vector<FileView> shards_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string, size_t> tensor_index_;
  std::vector<std::string> key_order_;
  std::unordered_map<std::string, GgufValue> values_;
};

}  // namespace rota
