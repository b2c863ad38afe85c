// Drafts from a file.
#include "decode/draft_oracle.h"

#include <algorithm>
#include <sstream>

#include "base/text_file.h"

namespace rota {

Result<DraftOracle> DraftOracle::parse(const std::string& text, const std::string& file,
                                       int corrupt, int vocab) {
  DraftOracle oracle;
  oracle.corrupt_ = corrupt;
  oracle.vocab_ = vocab;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    for (char& c : line) {
      if (c == '[' || c == ']' || c == ',') c = ' ';
    }
    std::istringstream fields(line);
    std::vector<int> ids;
    int id = 0;
    while (fields >> id) {
      if (id < 0 || id >= vocab) {
        return Status(Code::kUsage, file + ":" + std::to_string(number) + ": token " +
                                        std::to_string(id) + " is not below the vocabulary of " +
                                        std::to_string(vocab));
      }
      ids.push_back(id);
    }
    if (!fields.eof()) {
      return Status(Code::kUsage, file + ":" + std::to_string(number) + ": token ids expected");
    }
    oracle.lines_.push_back(std::move(ids));
  }
  return oracle;
}

Result<DraftOracle> DraftOracle::read(const std::string& file, int corrupt, int vocab) {
  ROTA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
  return parse(text, file, corrupt, vocab);
}

void DraftOracle::next_request() {
  ++request_;
  drafted_ = 0;
}

std::span<const int> DraftOracle::draft(size_t generated, int depth) {
  out_.clear();
  if (request_ < 0 || static_cast<size_t>(request_) >= lines_.size()) return out_;
  const std::vector<int>& line = lines_[static_cast<size_t>(request_)];
  for (size_t i = generated; i < line.size() && out_.size() < static_cast<size_t>(depth); ++i) {
    const bool spoil = corrupt_ > 0 && ++drafted_ % corrupt_ == 0;
    out_.push_back(spoil ? (line[i] + 1) % vocab_ : line[i]);
  }
  return out_;
}

}  // namespace rota
