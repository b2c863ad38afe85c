// The order in which experts are worth fast memory.
#include "experts/ranking.h"

#include <algorithm>
#include <sstream>

#include "base/sha256.h"
#include "base/text_file.h"

namespace rota {

Ranking index_ranking(int layers, int experts) {
  Ranking order;
  order.reserve(static_cast<size_t>(layers) * static_cast<size_t>(experts));
  for (int e = 0; e < experts; ++e) {
    for (int l = 0; l < layers; ++l) order.push_back(l * experts + e);
  }
  return order;
}

Ranking rank_by_use(int layers, int experts, std::span<const int64_t> uses) {
  Ranking order = index_ranking(layers, experts);
  std::stable_sort(order.begin(), order.end(), [uses](int a, int b) {
    return uses[static_cast<size_t>(a)] > uses[static_cast<size_t>(b)];
  });
  return order;
}

std::string ranking_text(const Ranking& ranking, int experts) {
  std::string text;
  for (const int id : ranking) {
    text += std::to_string(id / experts) + " " + std::to_string(id % experts) + "\n";
  }
  return text;
}

Result<Ranking> parse_ranking(const std::string& text, const std::string& file, int layers,
                              int experts) {
  Ranking order;
  std::vector<bool> seen(static_cast<size_t>(layers) * static_cast<size_t>(experts), false);
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string where = file + ":" + std::to_string(number);
    if (const size_t hash = line.find('#'); hash != std::string::npos) line.resize(hash);
    std::istringstream fields(line);
    int layer = 0, expert = 0;
    std::string word;
    if (!(fields >> word)) continue;
    fields.clear();
    fields.str(line);
    if (!(fields >> layer >> expert) || (fields >> word)) {
      return Status(Code::kUsage, where + ": a line is \"layer expert\", two numbers");
    }
    if (layer < 0 || layer >= layers || expert < 0 || expert >= experts) {
      return Status(Code::kUsage, where + ": layer " + std::to_string(layer) + " expert " +
                                      std::to_string(expert) + " is not in the model (layers 0.." +
                                      std::to_string(layers - 1) + ", experts 0.." +
                                      std::to_string(experts - 1) + ")");
    }
    const int id = layer * experts + expert;
    if (seen[static_cast<size_t>(id)]) {
      return Status(Code::kUsage, where + ": layer " + std::to_string(layer) + " expert " +
                                      std::to_string(expert) + " is listed twice");
    }
    seen[static_cast<size_t>(id)] = true;
    order.push_back(id);
  }
  for (const int id : index_ranking(layers, experts)) {
    if (!seen[static_cast<size_t>(id)]) order.push_back(id);
  }
  return order;
}

Result<RankFile> read_ranking(const std::string& file, int layers, int experts) {
  ROTA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
  // Half of a mistyped redirection; the order would silently be the default one.
  if (text.empty()) return Status(Code::kUsage, file + ": is empty; a rank names an expert a line");
  ROTA_ASSIGN_OR_RETURN(Ranking ranking, parse_ranking(text, file, layers, experts));
  return RankFile{std::move(ranking), sha256_hex(text.data(), text.size())};
}

}  // namespace rota
