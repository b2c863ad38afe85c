// Buffered writing of header and tensor data into FILE.tmp.
#include "formats/gguf_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "formats/gguf.h"

namespace rota {
namespace {

constexpr size_t kBufferBytes = size_t{4} << 20;

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_string(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out.append(text);
}

void put_type(std::string& out, GgufType type) { put(out, static_cast<uint32_t>(type)); }

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

GgufWriter::GgufWriter(std::string path, uint32_t alignment)
    : path_(std::move(path)), tmp_path_(path_ + ".tmp"), alignment_(alignment) {
  ROTA_CHECK(alignment >= 8 && (alignment & (alignment - 1)) == 0, "alignment", alignment);
  key_u32("general.alignment", alignment);
}

GgufWriter::~GgufWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(tmp_path_.c_str());
}

void GgufWriter::begin_key(std::string_view key, GgufType type) {
  ROTA_CHECK(fd_ < 0, "key after begin_data:", key);
  put_string(keys_, key);
  put_type(keys_, type);
  ++key_count_;
}

template <typename T>
void GgufWriter::put_key(std::string_view key, GgufType type, T value) {
  begin_key(key, type);
  put(keys_, value);
}

template <typename T>
void GgufWriter::put_array(std::string_view key, GgufType element, std::span<const T> values) {
  begin_key(key, GgufType::kArray);
  put_type(keys_, element);
  put<uint64_t>(keys_, values.size());
  for (const T& value : values) put(keys_, value);
}

void GgufWriter::key_u16(std::string_view key, uint16_t value) {
  put_key(key, GgufType::kU16, value);
}
void GgufWriter::key_u32(std::string_view key, uint32_t value) {
  put_key(key, GgufType::kU32, value);
}
void GgufWriter::key_i32(std::string_view key, int32_t value) {
  put_key(key, GgufType::kI32, value);
}
void GgufWriter::key_f32(std::string_view key, float value) { put_key(key, GgufType::kF32, value); }
void GgufWriter::key_bool(std::string_view key, bool value) {
  put_key<uint8_t>(key, GgufType::kBool, value ? 1 : 0);
}
void GgufWriter::key_string(std::string_view key, std::string_view value) {
  begin_key(key, GgufType::kString);
  put_string(keys_, value);
}
void GgufWriter::key_i32_array(std::string_view key, std::span<const int32_t> values) {
  put_array(key, GgufType::kI32, values);
}
void GgufWriter::key_u32_array(std::string_view key, std::span<const uint32_t> values) {
  put_array(key, GgufType::kU32, values);
}
void GgufWriter::key_u64_array(std::string_view key, std::span<const uint64_t> values) {
  put_array(key, GgufType::kU64, values);
}
void GgufWriter::key_i64_array(std::string_view key, std::span<const int64_t> values) {
  put_array(key, GgufType::kI64, values);
}
void GgufWriter::key_f32_array(std::string_view key, std::span<const float> values) {
  put_array(key, GgufType::kF32, values);
}
void GgufWriter::key_string_array(std::string_view key, std::span<const std::string> values) {
  begin_key(key, GgufType::kArray);
  put_type(keys_, GgufType::kString);
  put<uint64_t>(keys_, values.size());
  for (const std::string& value : values) put_string(keys_, value);
}

void GgufWriter::key_copy(std::string_view key, const GgufValue& value) {
  begin_key(key, value.type);
  if (value.type == GgufType::kArray) {
    put_type(keys_, value.element);
    put<uint64_t>(keys_, value.count);
  }
  keys_.append(reinterpret_cast<const char*>(value.payload), value.bytes);
}

Status GgufWriter::add_tensor(std::string_view name, Format format, std::span<const uint64_t> ne) {
  ROTA_CHECK(fd_ < 0, "tensor after begin_data:", name);
  ROTA_CHECK(!ne.empty() && ne.size() <= 4, name, "dimensions", ne.size());
  const auto row = row_bytes(format, ne[0]);
  if (!row.ok()) {
    return Status(Code::kUsage, "tensor " + std::string(name) + ": " + row.status().message());
  }
  uint64_t bytes = row.value();
  for (const uint64_t dim : ne.subspan(1)) bytes *= dim;
  const uint64_t offset =
      tensors_.empty() ? 0 : align_up(tensors_.back().offset + tensors_.back().bytes, alignment_);
  tensors_.push_back({std::string(name), format, {ne.begin(), ne.end()}, bytes, offset});
  return Status();
}

std::string GgufWriter::header() const {
  constexpr uint32_t kVersion = 3;
  std::string out = "GGUF";
  put(out, kVersion);
  put<uint64_t>(out, tensors_.size());
  put<uint64_t>(out, key_count_);
  out += keys_;
  for (const Pending& tensor : tensors_) {
    put_string(out, tensor.name);
    put(out, static_cast<uint32_t>(tensor.ne.size()));
    for (const uint64_t dim : tensor.ne) put(out, dim);
    put(out, static_cast<uint32_t>(tensor.format));
    put(out, tensor.offset);
  }
  return out;
}

std::string GgufWriter::padded_header() const {
  std::string head = header();
  head.resize(align_up(head.size(), alignment_), '\0');
  return head;
}

uint64_t GgufWriter::file_bytes() const {
  const uint64_t start = align_up(header().size(), alignment_);
  return tensors_.empty() ? start : start + tensors_.back().offset + tensors_.back().bytes;
}

Status GgufWriter::fail(const char* what) const {
  return Status(Code::kIo, path_ + ": " + what + ": " + std::strerror(errno));
}

Status GgufWriter::begin_data() {
  ROTA_CHECK(fd_ < 0, "begin_data twice", path_);
  fd_ = ::open(tmp_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) return fail("cannot create");
  buffer_.reserve(kBufferBytes);
  const std::string head = header();
  data_start_ = align_up(head.size(), alignment_);
  ROTA_RETURN_IF_ERROR(write_all(head.data(), head.size()));
  return pad_to(data_start_);
}

Status GgufWriter::append(const void* data, size_t bytes) {
  const auto* in = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    ROTA_CHECK(current_ < tensors_.size(), "more data than declared in", path_);
    const Pending& tensor = tensors_[current_];
    if (current_bytes_ == 0) ROTA_RETURN_IF_ERROR(pad_to(data_start_ + tensor.offset));
    const size_t take = std::min<uint64_t>(bytes, tensor.bytes - current_bytes_);
    ROTA_RETURN_IF_ERROR(write_all(in, take));
    in += take;
    bytes -= take;
    current_bytes_ += take;
    if (current_bytes_ == tensor.bytes) {
      ++current_;
      current_bytes_ = 0;
    }
  }
  return Status();
}

Status GgufWriter::write_at(size_t tensor, uint64_t offset, const void* data, size_t bytes) {
  ROTA_CHECK(fd_ >= 0 && tensor < tensors_.size(), path_, "tensor", tensor);
  const Pending& into = tensors_[tensor];
  ROTA_CHECK(offset + bytes <= into.bytes, into.name, "bytes", into.bytes, "up to", offset + bytes);
  const auto* in = static_cast<const uint8_t*>(data);
  const uint64_t at = data_start_ + into.offset + offset;
  for (size_t done = 0; done < bytes;) {
    const ssize_t wrote = pwrite(fd_, in + done, bytes - done, static_cast<off_t>(at + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail("cannot write");
    done += static_cast<size_t>(wrote);
  }
  written_ += bytes;
  return Status();
}

uint64_t GgufWriter::tensor_bytes() const {
  uint64_t bytes = 0;
  for (const Pending& tensor : tensors_) bytes += tensor.bytes;
  return bytes;
}

Status GgufWriter::write_all(const void* data, size_t bytes) {
  if (buffer_.size() + bytes > kBufferBytes) ROTA_RETURN_IF_ERROR(flush());
  const auto* in = static_cast<const uint8_t*>(data);
  position_ += bytes;
  if (bytes >= kBufferBytes) return write_through(in, bytes);
  buffer_.insert(buffer_.end(), in, in + bytes);
  return Status();
}

Status GgufWriter::write_through(const uint8_t* data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t written = write(fd_, data + done, bytes - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail("cannot write");
    done += static_cast<size_t>(written);
  }
  return Status();
}

Status GgufWriter::flush() {
  const Status status = write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
  return status;
}

Status GgufWriter::pad_to(uint64_t position) {
  const std::vector<uint8_t> zeros(position - position_, 0);
  return write_all(zeros.data(), zeros.size());
}

Status GgufWriter::finish() {
  const bool appended = current_ == tensors_.size() && current_bytes_ == 0 && written_ == 0;
  ROTA_CHECK(fd_ >= 0 && (appended || (current_ == 0 && written_ == tensor_bytes())), path_,
             "tensor", current_, "of", tensors_.size(), "incomplete");
  ROTA_RETURN_IF_ERROR(flush());
  if (fsync(fd_) != 0) return fail("cannot flush to disk");
  if (close(std::exchange(fd_, -1)) != 0 || rename(tmp_path_.c_str(), path_.c_str()) != 0) {
    const Status status = fail("cannot put the finished file in place");
    unlink(tmp_path_.c_str());
    return status;
  }
  return Status();
}

}  // namespace rota
