// How often a draft stage chose each of its experts, as text: lines "stage expert count", "#"
// begins a comment. Owns that form and the choice of the heaviest; knows no drafter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

class DraftCounts {
 public:
  DraftCounts(int stages, int experts);

  // kUsage with file and line. An expert without a line has no entry; a line with count 0 has.
  static Result<DraftCounts> parse(const std::string& text, const std::string& file, int stages,
                                   int experts);
  static Result<DraftCounts> read(const std::string& file, int stages, int experts);

  void add(int stage, int expert) { ++counts_[id(stage, expert)]; }
  void clear() { counts_.assign(counts_.size(), 0); }
  int64_t of(int stage, int expert) const { return counts_[id(stage, expert)]; }
  // Experts of a stage that have an entry.
  int entries(int stage) const;

  // 1 for the `keep` heaviest experts of each stage, the lowest number of equals; empty when that
  // is all of them. kUsage naming the stage, its entries and `keep` when a stage has fewer, or when
  // a row could not be routed to top_k of them.
  Result<std::vector<uint8_t>> heaviest(int keep, int top_k) const;

  // A line an expert, the heaviest of a stage first. The file is replaced whole: whoever reads it
  // meanwhile sees the old one.
  std::string text() const;
  Status write(const std::string& file) const;

 private:
  static constexpr int64_t kNoEntry = -1;
  size_t id(int stage, int expert) const {
    return static_cast<size_t>(stage) * static_cast<size_t>(experts_) + static_cast<size_t>(expert);
  }
  // Experts of a stage, the heaviest first.
  std::vector<int> by_weight(int stage) const;

  int stages_, experts_;
  std::vector<int64_t> counts_;  // [stages, experts]
};

}  // namespace rota
