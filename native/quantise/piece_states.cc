// A shared mapping of a file whose blocks are there before it is written to: a full disk is an
// error here, not a signal later.
#include "quantise/piece_states.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/rng.h"

namespace rota {
namespace {

Status disk_error(const std::string& path, const char* what, int error) {
  return {Code::kIo, path + ": cannot " + what + ": " + std::strerror(error)};
}

uint8_t* map_whole(int fd, size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

}  // namespace

PieceStates::PieceStates(PieceStates&& other) noexcept
    : path_(std::move(other.path_)),
      memory_(std::exchange(other.memory_, nullptr)),
      pieces_(other.pieces_),
      bytes_(other.bytes_) {}

PieceStates& PieceStates::operator=(PieceStates&& other) noexcept {
  if (this != &other) {
    release();
    path_ = std::move(other.path_);
    memory_ = std::exchange(other.memory_, nullptr);
    pieces_ = other.pieces_;
    bytes_ = other.bytes_;
  }
  return *this;
}

PieceStates::~PieceStates() { release(); }

void PieceStates::release() {
  if (memory_ != nullptr) munmap(memory_, mapped());
  memory_ = nullptr;
}

Result<PieceStates> PieceStates::create(const std::string& path, size_t pieces, size_t bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return disk_error(path, "create", errno);
  PieceStates states(path, nullptr, pieces, bytes);
  int error = posix_fallocate(fd, 0, static_cast<off_t>(states.mapped()));
  if (error == 0) {
    states.memory_ = map_whole(fd, states.mapped());
    if (states.memory_ == nullptr) error = errno;
  }
  close(fd);
  if (error == 0) return states;
  unlink(path.c_str());
  return disk_error(path, "take its room on the disk", error);
}

PieceStates PieceStates::reopen(const std::string& path, size_t pieces, size_t bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return {};
  PieceStates states(path, nullptr, pieces, bytes);
  struct stat info = {};
  if (fstat(fd, &info) == 0 && static_cast<uint64_t>(info.st_size) == states.mapped()) {
    states.memory_ = map_whole(fd, states.mapped());
  }
  close(fd);
  if (states.empty()) return {};
  uint64_t sealed = 0;
  std::memcpy(&sealed, states.of(pieces), sizeof sealed);
  if (sealed != states.checksum()) return {};
  return states;
}

Status PieceStates::seal(const std::string& final_path) {
  const uint64_t sum = checksum();
  std::memcpy(of(pieces_), &sum, sizeof sum);
  if (::rename(path_.c_str(), final_path.c_str()) != 0) {
    return disk_error(final_path, "write", errno);
  }
  path_ = final_path;
  return {};
}

// Four chains, so that the processor has something to do while one multiplies.
uint64_t PieceStates::checksum() const {
  uint64_t sums[4] = {pieces_, bytes_, 2, 3};
  const size_t bytes = pieces_ * bytes_, whole = bytes / sizeof sums * sizeof sums;
  for (size_t at = 0; at < whole; at += sizeof sums) {
    uint64_t words[4];
    std::memcpy(words, memory_ + at, sizeof words);
    for (size_t i = 0; i < 4; ++i) sums[i] = splitmix64_mix(sums[i] ^ words[i]) + kGoldenGamma;
  }
  for (size_t at = whole; at < bytes; ++at) sums[0] = splitmix64_mix(sums[0] ^ memory_[at]);
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum = splitmix64_mix(sum ^ part) + kGoldenGamma;
  return sum;
}

}  // namespace rota
