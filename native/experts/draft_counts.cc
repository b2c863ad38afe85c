// Counts of draft experts from and to text.
#include "experts/draft_counts.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <sstream>

#include "base/text_file.h"

namespace rota {
namespace {

Status cannot_write(const std::string& file) {
  return Status(Code::kIo, file + ": cannot write: " + std::strerror(errno));
}

}  // namespace

DraftCounts::DraftCounts(int stages, int experts)
    : stages_(stages),
      experts_(experts),
      counts_(static_cast<size_t>(stages) * static_cast<size_t>(experts), 0) {}

Result<DraftCounts> DraftCounts::parse(const std::string& text, const std::string& file, int stages,
                                       int experts) {
  DraftCounts counts(stages, experts);
  counts.counts_.assign(counts.counts_.size(), kNoEntry);
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto wrong = [&file, number](const std::string& why) {
      return Status(Code::kUsage, file + ":" + std::to_string(number) + ": " + why);
    };
    if (const size_t hash = line.find('#'); hash != std::string::npos) line.resize(hash);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream fields(line);
    int stage = 0, expert = 0;
    int64_t count = 0;
    std::string more;
    if (!(fields >> stage >> expert >> count) || (fields >> more) || count < 0) {
      return wrong("a line is \"stage expert count\", three whole numbers");
    }
    if (stage < 0 || stage >= stages || expert < 0 || expert >= experts) {
      return wrong("stage " + std::to_string(stage) + " expert " + std::to_string(expert) +
                   " is not in the drafter (stages 0.." + std::to_string(stages - 1) +
                   ", experts 0.." + std::to_string(experts - 1) + ")");
    }
    int64_t& entry = counts.counts_[counts.id(stage, expert)];
    if (entry != kNoEntry) {
      return wrong("stage " + std::to_string(stage) + " expert " + std::to_string(expert) +
                   " is listed twice");
    }
    entry = count;
  }
  return counts;
}

Result<DraftCounts> DraftCounts::read(const std::string& file, int stages, int experts) {
  ROTA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
  return parse(text, file, stages, experts);
}

int DraftCounts::entries(int stage) const {
  int found = 0;
  for (int e = 0; e < experts_; ++e) found += of(stage, e) != kNoEntry;
  return found;
}

std::vector<int> DraftCounts::by_weight(int stage) const {
  std::vector<int> order(static_cast<size_t>(experts_));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [this, stage](int a, int b) { return of(stage, a) > of(stage, b); });
  return order;
}

Result<std::vector<uint8_t>> DraftCounts::heaviest(int keep, int top_k) const {
  std::vector<uint8_t> kept(counts_.size(), 0);
  for (int stage = 0; stage < stages_; ++stage) {
    const int most = entries(stage);
    if (keep > most) {
      return Status(Code::kUsage, "stage " + std::to_string(stage) + " has " +
                                      std::to_string(most) + " entries, fewer than the " +
                                      std::to_string(keep) + " to keep");
    }
    if (keep < top_k) {
      return Status(Code::kUsage, "stage " + std::to_string(stage) + " has " +
                                      std::to_string(most) + " entries and routes each row to " +
                                      std::to_string(top_k) + " experts, more than the " +
                                      std::to_string(keep) + " to keep");
    }
    const std::vector<int> order = by_weight(stage);
    for (int i = 0; i < keep; ++i) kept[id(stage, order[static_cast<size_t>(i)])] = 1;
  }
  if (keep == experts_) kept.clear();
  return kept;
}

std::string DraftCounts::text() const {
  std::string out = "# stage expert count: rows of a draft stage that chose the expert\n";
  for (int stage = 0; stage < stages_; ++stage) {
    for (const int expert : by_weight(stage)) {
      out += std::to_string(stage) + " " + std::to_string(expert) + " " +
             std::to_string(of(stage, expert)) + "\n";
    }
  }
  return out;
}

Status DraftCounts::write(const std::string& file) const {
  const std::string fresh = file + ".new", lines = text();
  std::FILE* out = std::fopen(fresh.c_str(), "wb");
  if (out == nullptr) return cannot_write(fresh);
  const bool whole = std::fwrite(lines.data(), 1, lines.size(), out) == lines.size();
  const bool closed = std::fclose(out) == 0;
  if (!whole || !closed || std::rename(fresh.c_str(), file.c_str()) != 0) {
    const Status status = cannot_write(fresh);
    std::remove(fresh.c_str());
    return status;
  }
  return Status();
}

}  // namespace rota
