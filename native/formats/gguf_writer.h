// Writes one GGUF v3 file: keys, tensor list, then streamed tensor data. The file appears whole or
// not at all (FILE.tmp, fsync, rename). Knows the container; knows nothing of models.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/block.h"
#include "formats/gguf.h"

namespace rota {

class GgufWriter {
 public:
  // alignment: power of two >= 8. Nothing touches the disk before begin_data().
  GgufWriter(std::string path, uint32_t alignment);
  GgufWriter(GgufWriter&&) = delete;
  GgufWriter& operator=(GgufWriter&&) = delete;
  ~GgufWriter();  // removes FILE.tmp unless finish() succeeded

  void key_u16(std::string_view key, uint16_t value);
  void key_u32(std::string_view key, uint32_t value);
  void key_i32(std::string_view key, int32_t value);
  void key_f32(std::string_view key, float value);
  void key_bool(std::string_view key, bool value);
  void key_string(std::string_view key, std::string_view value);
  void key_i32_array(std::string_view key, std::span<const int32_t> values);
  void key_u32_array(std::string_view key, std::span<const uint32_t> values);
  void key_u64_array(std::string_view key, std::span<const uint64_t> values);
  void key_i64_array(std::string_view key, std::span<const int64_t> values);
  void key_f32_array(std::string_view key, std::span<const float> values);
  void key_string_array(std::string_view key, std::span<const std::string> values);
  // As another file has it, whatever its type.
  void key_copy(std::string_view key, const GgufValue& value);

  // Declares the next tensor; its data must come in the same order. kUsage when a row does not fit
  // the format.
  Status add_tensor(std::string_view name, Format format, std::span<const uint64_t> ne);

  // Bytes of the whole file, known once all keys and tensors are declared.
  uint64_t file_bytes() const;
  // What a file of these keys and tensors begins with, up to its first tensor. For a writer that
  // lays the data behind it by itself, each tensor at the next multiple of the alignment.
  std::string padded_header() const;

  Status begin_data();
  // Data of the current tensor; moves on to the next one (with padding) when it is complete.
  Status append(const void* data, size_t bytes);
  // In place of append(): a stretch of tensor number `tensor`, at once from many threads, in any
  // order and each byte once.
  Status write_at(size_t tensor, uint64_t offset, const void* data, size_t bytes);
  // Every declared byte must have come, all by append() or all by write_at(). kIo names the file
  // and the system's reason (a full disk, for one).
  Status finish();

 private:
  struct Pending {
    std::string name;
    Format format;
    std::vector<uint64_t> ne;
    uint64_t bytes;
    uint64_t offset;  // from the start of the data section
  };

  void begin_key(std::string_view key, GgufType type);
  template <typename T>
  void put_key(std::string_view key, GgufType type, T value);
  template <typename T>
  void put_array(std::string_view key, GgufType element, std::span<const T> values);
  std::string header() const;
  Status fail(const char* what) const;  // with errno's words
  Status write_all(const void* data, size_t bytes);
  Status write_through(const uint8_t* data, size_t bytes);
  uint64_t tensor_bytes() const;
  Status flush();
  Status pad_to(uint64_t position);

  std::string path_, tmp_path_;
  uint32_t alignment_;
  int fd_ = -1;
  std::string keys_;
  uint64_t key_count_ = 0;
  std::vector<Pending> tensors_;
  size_t current_ = 0;          // tensor that the next byte belongs to
  uint64_t current_bytes_ = 0;  // of it, already taken
  uint64_t data_start_ = 0, position_ = 0;
  std::atomic<uint64_t> written_ = 0;  // by write_at()
  std::vector<uint8_t> buffer_;
};

}  // namespace rota
