// statvfs, and the time that is left.
#include "tools/writing.h"

#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/clock.h"
#include "base/memory_limits.h"

namespace rota {
namespace {

constexpr int64_t kQuietNs = 2'000'000'000;  // a run shorter than this prints no progress
std::string folder_of(const std::string& file) {
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  return parent.empty() ? "." : parent.string();
}

constexpr int64_t kRefreshNs = 200'000'000, kLogNs = 30'000'000'000, kLineNs = 1'000'000'000;

}  // namespace

Status check_disk(const std::string& out, uint64_t needed, const std::string& what) {
  const std::string folder = folder_of(out);
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) return Status();  // creating the file will say why
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free_bytes >= needed) return Status();
  return Status(Code::kIo, folder + ": " + what + " needs " + std::to_string(needed) +
                               " bytes, the disk has " + std::to_string(free_bytes) + " free");
}

Status check_tmpfs(const std::string& out, uint64_t needed, const std::string& what) {
  const std::string folder = folder_of(out);
  struct statfs disk = {};
  if (statfs(folder.c_str(), &disk) != 0 || disk.f_type != TMPFS_MAGIC) return Status();
  const MemoryAvailable memory = memory_available();
  if (memory.bytes >= needed) return Status();
  return Status(Code::kOutOfMemory, folder + " is memory: " + what + " needs " +
                                        std::to_string(needed) + " bytes, there are " +
                                        std::to_string(memory.bytes) + " by " + memory.limit);
}

Progress::Progress()
    : start_ns_(now_ns()), last_ns_(start_ns_), terminal_(isatty(STDERR_FILENO) != 0) {
  const char* wanted = std::getenv("ROTA_PROGRESS");
  lines_ = wanted != nullptr && std::string_view(wanted) == "lines";
}

Progress::~Progress() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::operator()(const char* phase, uint64_t start, uint64_t done, uint64_t total) {
  const int64_t now = now_ns();
  if (phase != phase_) {
    phase_ = phase;
    start_ns_ = now;
  }
  const int64_t each = terminal_ ? kRefreshNs : lines_ ? kLineNs : kLogNs;
  if (now - start_ns_ < kQuietNs || now - last_ns_ < each || done <= start) return;
  last_ns_ = now;
  shown_ = true;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double rate = static_cast<double>(done - start) / static_cast<double>(now - start_ns_);
  const double left_s = static_cast<double>(total - done) / rate * 1e-9;
  std::fprintf(stderr, "%s%s: %.0f %%, %.0f s left%s", terminal_ ? "\r\033[K" : "", phase,
               share * 100, left_s, terminal_ ? "" : "\n");
}

}  // namespace rota
