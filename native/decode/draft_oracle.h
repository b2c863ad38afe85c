// Test-only drafts from a file: scripts acceptance, because the drafts of random weights are never
// accepted. Owns the file's token ids and the corruption; knows no model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace rota {

class DraftOracle {
 public:
  // One line a request, in order: the ids that the target will produce, separated by spaces or as a
  // JSON array. corrupt K spoils every K-th drafted token of a request (1 = all, 2 = every other
  // one); 0 spoils none.
  static Result<DraftOracle> parse(const std::string& text, const std::string& file, int corrupt,
                                   int vocab);
  static Result<DraftOracle> read(const std::string& file, int corrupt, int vocab);

  void next_request();
  // Drafts for the tokens number `generated`, generated + 1, ... of the request; fewer than `depth`
  // when its line ends.
  std::span<const int> draft(size_t generated, int depth);

 private:
  std::vector<std::vector<int>> lines_;
  int corrupt_ = 0, vocab_ = 0;
  int request_ = -1;
  int64_t drafted_ = 0;
  std::vector<int> out_;
};

}  // namespace rota
