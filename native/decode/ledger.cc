// The ledger's lines and its file.
#include "decode/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace rota {
namespace {

const char* kind_name(PassKind kind) {
  switch (kind) {
    case PassKind::kPrefill:
      return "prefill";
    case PassKind::kDecode:
      return "decode";
    case PassKind::kVerify:
      return "verify";
    case PassKind::kDraft:
      return "draft";
  }
  return "?";
}

class Line {
 public:
  void text(const char* s) { out_ += s; }
  void number(const char* name, int64_t value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%" PRId64, value);
    key(name);
    out_ += buffer;
  }
  // Microseconds that are over: parts of a time that were cut off so are never more than the whole.
  void milliseconds(const char* name, int64_t ns) {
    const int64_t us = ns / 1000;
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%" PRId64 ".%03" PRId64, us / 1000, us % 1000);
    key(name);
    out_ += buffer;
  }
  void open(const char* name) {
    key(name);
    out_ += '{';
    first_ = true;
  }
  void close() {
    out_ += '}';
    first_ = false;
  }
  void sources(const SourceTally& tally) {
    for (size_t s = 0; s < kSources; ++s) number(source_name(static_cast<Source>(s)), tally.of[s]);
  }
  void string(const char* name, const char* value) {
    key(name);
    out_ += '"';
    out_ += value;
    out_ += '"';
  }
  std::string take() { return std::move(out_); }

 private:
  void key(const char* name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }
  std::string out_ = "{";
  bool first_ = true;
};

void blobs(Line& line, const ExpertTally& tally) {
  line.open("blobs");
  for (size_t s = 0; s < kSources; ++s) {
    if (tally.distinct.of[s] == 0) continue;
    line.open(source_name(static_cast<Source>(s)));
    for (size_t c = 0; c < kBlobClasses; ++c) {
      if (tally.blobs[s][c] != 0) line.number(blob_class_name(c), tally.blobs[s][c]);
    }
    line.close();
  }
  line.close();
}

}  // namespace

std::string ledger_line(const PassRecord& pass) {
  const ExpertTally& experts = pass.experts;
  Line line;
  line.number("id", pass.request);
  line.number("pass", pass.pass);
  line.string("kind", kind_name(pass.kind));
  line.number("rows", pass.rows);
  line.number("offered", pass.offered);
  line.number("accepted", pass.accepted);
  line.sources(experts.source);
  line.number("skipped", experts.skipped);
  line.number("late", experts.late);
  line.open("distinct");
  line.sources(experts.distinct);
  line.close();
  blobs(line, experts);
  line.open("bytes");
  line.sources(experts.bytes);
  line.number("dense", pass.dense_bytes);
  line.number("engram", pass.engram_bytes);
  line.number("pool", experts.pool_bytes);
  line.close();
  line.open("ms");
  line.milliseconds("total", pass.total_ns);
  line.milliseconds("draft", pass.draft_ns);
  line.milliseconds("dense", pass.dense_ns);
  line.milliseconds("experts", experts.experts_ns);
  line.milliseconds("pool", experts.pool_ns);
  line.milliseconds("file_wait", experts.file_wait_ns);
  line.close();
  line.text("}\n");
  return line.take();
}

Ledger::Ledger(std::string path, int fd) : path_(std::move(path)), fd_(fd) {
  lines_.reserve(size_t{1} << 20);
}

Ledger::~Ledger() { ::close(fd_); }

Result<std::unique_ptr<Ledger>> Ledger::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Status(Code::kUsage, "--ledger " + path + ": cannot write: " + std::strerror(errno));
  }
  return std::unique_ptr<Ledger>(new Ledger(path, fd));
}

void Ledger::add(const PassRecord& pass) {
  lines_ += ledger_line(pass);
  ++held_;
}

Status Ledger::flush() {
  size_t done = 0;
  while (done < lines_.size()) {
    const ssize_t n = ::write(fd_, lines_.data() + done, lines_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return hold(std::strerror(errno));
    done += static_cast<size_t>(n);
  }
  file_bytes_ += static_cast<int64_t>(done);
  lines_.clear();
  held_ = 0;
  return Status();
}

// No half line stays in the file: the lines are written whole when there is room again. A pipe
// cannot be cut; it had no room problem either.
Status Ledger::hold(const char* why) {
  if (ftruncate(fd_, file_bytes_) == 0) (void)lseek(fd_, file_bytes_, SEEK_SET);
  std::string message = "--ledger " + path_ + ": cannot write: " + why + "; ";
  if (lines_.size() <= kMostHeldBytes) {
    return Status(Code::kIo, message + std::to_string(held_) +
                                 " lines are held until the next request: make room");
  }
  message += std::to_string(held_) + " lines are lost";
  lines_.clear();
  held_ = 0;
  return Status(Code::kIo, message);
}

}  // namespace rota
