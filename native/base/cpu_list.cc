// "0-3,8" and back.
#include "base/cpu_list.h"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <string_view>

namespace rota {
namespace {

constexpr int kMost = 4095;

// A whole number at the beginning of text, which is shortened by it; -1: none, or above kMost.
int take_number(std::string_view& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > kMost) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

Result<std::vector<int>> parse_ordered_cpu_list(const std::string& text) {
  const Status bad(Code::kUsage, "\"" + text + "\" is no list of numbers such as 0-3,8");
  std::string_view rest = text;
  std::vector<int> list;
  std::bitset<kMost + 1> listed;
  for (;;) {
    const int first = take_number(rest);
    int last = first;
    if (first >= 0 && rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
    }
    if (first < 0 || last < first) return bad;
    for (int n = first; n <= last; ++n) {
      if (!listed[static_cast<size_t>(n)]) list.push_back(n);
      listed[static_cast<size_t>(n)] = true;
    }
    if (rest.empty()) return list;
    if (!rest.starts_with(',')) return bad;
    rest.remove_prefix(1);
  }
}

Result<std::vector<int>> parse_cpu_list(const std::string& text) {
  ROTA_ASSIGN_OR_RETURN(std::vector<int> list, parse_ordered_cpu_list(text));
  std::sort(list.begin(), list.end());
  return list;
}

std::string format_cpu_list(const std::vector<int>& list) {
  std::string text;
  for (size_t i = 0; i < list.size();) {
    size_t last = i;
    while (last + 1 < list.size() && list[last + 1] == list[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(list[i]);
    if (last > i) text += "-" + std::to_string(list[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace rota
