// FILE.tmp, fsync, rename; a SHA-256 behind every record.
#include "quantise/work_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/sha256.h"

namespace rota {
namespace {

constexpr const char* kInputs = "inputs";
constexpr size_t kDigest = 64;  // hex digits

Status disk_error(const std::string& path, const char* what) {
  return {Code::kIo, path + ": cannot " + what + ": " + std::strerror(errno)};
}

Status write_synced(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return disk_error(path, "create");
  Status status;
  while (!bytes.empty() && status.ok()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = disk_error(path, "write");
    bytes.remove_prefix(static_cast<size_t>(n < 0 ? 0 : n));
  }
  if (status.ok() && fsync(fd) != 0) status = disk_error(path, "write");
  if (::close(fd) != 0 && status.ok()) status = disk_error(path, "write");
  return status;
}

}  // namespace

Result<WorkFolder> WorkFolder::open(const std::string& folder, const std::string& inputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Status(Code::kIo, folder + ": cannot make the folder: " + error.message());
  }
  WorkFolder work(folder);
  const auto held = work.get(kInputs);
  if (held && *held != inputs) {
    return Status(Code::kUsage, folder +
                                    ": holds the work of other inputs (model, text or options); "
                                    "remove it, or name another --out");
  }
  if (!held) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().filename() == std::string(kInputs) + ".tmp") continue;
      return Status(Code::kUsage, folder +
                                      ": exists and does not say that it holds a calibration's "
                                      "work; remove it, or name another --out");
    }
    ROTA_RETURN_IF_ERROR(work.put(kInputs, inputs));
  }
  return work;
}

std::optional<std::string> WorkFolder::get(const std::string& name) const {
  std::ifstream in(path(name), std::ios::binary);
  if (!in) return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (bytes.size() < kDigest) return std::nullopt;
  const std::string digest = bytes.substr(bytes.size() - kDigest);
  bytes.resize(bytes.size() - kDigest);
  if (sha256_hex(bytes.data(), bytes.size()) != digest) return std::nullopt;
  return bytes;
}

Status WorkFolder::put(const std::string& name, std::string_view bytes) const {
  const std::string temporary = path(name) + ".tmp";
  std::string whole(bytes);
  whole += sha256_hex(bytes.data(), bytes.size());
  ROTA_RETURN_IF_ERROR(write_synced(temporary, whole));
  if (::rename(temporary.c_str(), path(name).c_str()) != 0) {
    return disk_error(path(name), "write");
  }
  return {};
}

void WorkFolder::remove(const std::string& name) const {
  std::error_code ignored;
  std::filesystem::remove(path(name), ignored);
}

void WorkFolder::clear() const {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace rota
