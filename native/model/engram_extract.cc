// The order of writing: header, then tables row by row, into OUT.partial; its length says where to
// go on.
#include "model/engram_extract.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/direct_file.h"
#include "formats/gguf_writer.h"
#include "model/engram_source.h"
#include "model/gguf_config.h"
#include "model/tensor_names.h"

namespace rota {
namespace {

constexpr uint32_t kAlignment = 4096;
constexpr uint64_t kChunk = uint64_t{4} << 20;
// Written back to the disk so often that a kill loses little and the page cache stays small.
constexpr uint64_t kSyncEvery = uint64_t{64} << 20;

// A descriptor and its words for errors.
class OutFile {
 public:
  ~OutFile() {
    if (fd_ >= 0) close(fd_);
  }
  Status open(const std::string& path) {
    path_ = path;
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    return fd_ < 0 ? fail("cannot create", 0) : Status();
  }
  Status cut(uint64_t bytes) {
    return ftruncate(fd_, static_cast<off_t>(bytes)) != 0 ? fail("cannot cut", bytes) : Status();
  }
  Status read(uint64_t offset, uint64_t bytes, uint8_t* out) const {
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t got = pread(fd_, out + done, bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail("read failed", offset + done);
      if (got == 0) return Status(Code::kIo, path_ + ": ends early");
      done += static_cast<uint64_t>(got);
    }
    return Status();
  }
  Status write(uint64_t offset, const void* data, uint64_t bytes) {
    const auto* in = static_cast<const uint8_t*>(data);
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t put = pwrite(fd_, in + done, bytes - done, static_cast<off_t>(offset + done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return fail("cannot write", offset + done);
      done += static_cast<uint64_t>(put);
    }
    unsynced_ += bytes;
    return unsynced_ >= kSyncEvery ? sync(offset + bytes) : Status();
  }
  Status sync(uint64_t offset) {
    unsynced_ = 0;
    if (fdatasync(fd_) != 0) return fail("cannot flush to disk", offset);
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return Status();
  }

 private:
  Status fail(const char* what, uint64_t offset) const {
    return Status(Code::kIo, path_ + ": offset " + std::to_string(offset) + ": " + what + ": " +
                                 std::strerror(errno));
  }
  int fd_ = -1;
  std::string path_;
  uint64_t unsynced_ = 0;
};

class Extraction {
 public:
  Extraction(const ExtractOptions& options, EngramSource source)
      : options_(options),
        source_(std::move(source)),
        writer_(options.out, kAlignment),
        partial_(options.out + ".partial") {}

  Result<ExtractResult> run() {
    ROTA_RETURN_IF_ERROR(declare());
    ROTA_RETURN_IF_ERROR(begin());
    ROTA_RETURN_IF_ERROR(each_chunk("extracting", result_.resumed_bytes, true));
    ROTA_RETURN_IF_ERROR(file_.sync(result_.bytes));
    if (options_.verify) ROTA_RETURN_IF_ERROR(each_chunk("verifying", 0, false));
    if (rename(partial_.c_str(), options_.out.c_str()) == 0) return std::move(result_);
    return Status(Code::kIo, options_.out + ": cannot put the finished file in place: " +
                                 std::strerror(errno));
  }

 private:
  Status declare() {
    std::vector<int32_t> layers;
    std::vector<int64_t> rows;
    for (const EngramTable& table : source_.tables()) {
      if (table.dim != source_.tables().front().dim) {
        return Status(Code::kLoad, table.codes_in->path() + ": tensor " + table.codes->name +
                                       " has rows of another length than the first table");
      }
      layers.push_back(table.layer);
      rows.push_back(static_cast<int64_t>(table.rows));
      result_.layers.push_back(table.layer);
      result_.rows.push_back(table.rows);
    }
    ROTA_ASSIGN_OR_RETURN(const std::string identity, source_.identity());
    writer_.key_string("general.architecture", kEngramArchitecture);
    writer_.key_i32_array("engram.layer_ids", layers);
    writer_.key_u32("engram.head_dim", static_cast<uint32_t>(source_.tables().front().dim));
    writer_.key_i64_array("engram.num_embeddings", rows);
    writer_.key_string("engram.source", identity);
    for (const EngramTable& table : source_.tables()) {
      const std::string name = role_tensor_name(Role::kEngramEmbed, table.layer);
      const uint64_t ne[] = {table.dim, table.rows};
      ROTA_RETURN_IF_ERROR(writer_.add_tensor(name, Format::kMXFP8, ne));
    }
    head_ = writer_.padded_header();
    result_.bytes = writer_.file_bytes();
    return Status();
  }

  // Opens OUT.partial and finds out how much of it an earlier run has written.
  Status begin() {
    std::error_code ignored;
    const bool there = std::filesystem::exists(partial_, ignored);
    const uint64_t had = there ? std::filesystem::file_size(partial_, ignored) : 0;
    const uint64_t kept = std::min(had, result_.bytes);
    if (options_.before_write) ROTA_RETURN_IF_ERROR(options_.before_write(result_.bytes - kept));
    ROTA_RETURN_IF_ERROR(file_.open(partial_));
    if (had > result_.bytes) ROTA_RETURN_IF_ERROR(file_.cut(result_.bytes));
    if (kept < head_.size()) return file_.write(0, head_.data(), head_.size());
    std::string found(head_.size(), '\0');
    ROTA_RETURN_IF_ERROR(file_.read(0, found.size(), reinterpret_cast<uint8_t*>(found.data())));
    if (found != head_) {
      return Status(Code::kLoad,
                    partial_ + ": was begun from other files; remove it to start anew");
    }
    result_.resumed_bytes = kept;
    return Status();
  }

  // Passes over all tables in chunks of whole rows: writes those that end behind `done`, or
  // compares all.
  Status each_chunk(const char* phase, uint64_t start, bool write) {
    uint64_t at = head_.size();
    for (size_t t = 0; t < source_.tables().size(); ++t) {
      const EngramTable& table = source_.tables()[t];
      at = (at + kAlignment - 1) / kAlignment * kAlignment;
      const uint64_t rows_at_once = std::max<uint64_t>(1, kChunk / table.row_bytes());
      for (uint64_t row = 0; row < table.rows; row += rows_at_once) {
        const uint64_t rows = std::min(rows_at_once, table.rows - row);
        const uint64_t bytes = rows * table.row_bytes();
        if (at + bytes > start) ROTA_RETURN_IF_ERROR(chunk(table, row, rows, at, write));
        at += bytes;
        if (options_.progress) options_.progress(phase, start, at, result_.bytes);
      }
    }
    return Status();
  }

  Status chunk(const EngramTable& table, uint64_t row, uint64_t rows, uint64_t at, bool write) {
    const uint64_t bytes = rows * table.row_bytes();
    buffer_.resize(bytes);
    ROTA_RETURN_IF_ERROR(source_.read(table, row, rows, buffer_.data()));
    if (write) return file_.write(at, buffer_.data(), bytes);
    compared_.resize(bytes);
    ROTA_RETURN_IF_ERROR(file_.read(at, bytes, compared_.data()));
    const auto differs = std::mismatch(buffer_.begin(), buffer_.end(), compared_.begin()).first;
    if (differs == buffer_.end()) return Status();
    const auto where = at + static_cast<uint64_t>(differs - buffer_.begin());
    return Status(Code::kIo, partial_ + ": offset " + std::to_string(where) + ": differs from " +
                                 table.codes_in->path() + "; remove it and extract again");
  }

  const ExtractOptions& options_;
  EngramSource source_;
  GgufWriter writer_;  // for the header alone
  std::string partial_, head_;
  OutFile file_;
  ExtractResult result_;
  std::vector<uint8_t> buffer_, compared_;
};

}  // namespace

Result<ExtractResult> extract_engram(const ExtractOptions& options) {
  std::error_code ignored;
  if (std::filesystem::exists(options.out, ignored)) {
    return Status(Code::kUsage, "--out: " + options.out + " exists; remove it or name another");
  }
  ROTA_ASSIGN_OR_RETURN(EngramSource source, EngramSource::open(options.from));
  return Extraction(options, std::move(source)).run();
}

}  // namespace rota
