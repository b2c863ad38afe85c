// Flags of a command line.
#include "base/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "base/utf8.h"

namespace rota {
namespace {

size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

Status unknown_flag(std::string_view name, const std::vector<Flag>& flags) {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags) names.emplace_back(flag.name);
  const std::string near = nearest(name, names);
  std::string message = "unknown flag " + std::string(name);
  message += near.empty() ? "; --help lists the flags" : "; did you mean " + near + "?";
  return Status(Code::kUsage, message);
}

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t fewest = std::max<size_t>(3, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    // So many letters must be put in or taken out: a long word is not compared letter by letter.
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) >= fewest)
      continue;
    const size_t distance = edits(word, candidate);
    if (distance < fewest) {
      fewest = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

namespace {

Status parse_words(std::span<const char* const> arguments, const std::vector<Flag>& flags,
                   std::set<std::string>* given) {
  std::map<std::string, std::string> seen;  // by flag, as it was written
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string word = arguments[i];
    if (word.rfind("--", 0) != 0) {
      return Status(Code::kUsage, "unexpected argument \"" + word + "\": flags begin with --");
    }
    std::string value;
    const size_t equals = word.find('=');
    const bool attached = equals != std::string::npos;
    if (attached) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    const auto flag =
        std::find_if(flags.begin(), flags.end(), [&word](const Flag& f) { return word == f.name; });
    if (flag == flags.end()) return unknown_flag(word, flags);
    if (flag->value == nullptr && attached) {
      return Status(Code::kUsage, word + " takes no value");
    }
    if (flag->value != nullptr && !attached) {
      if (i + 1 == arguments.size()) {
        return Status(Code::kUsage, word + " needs a value: " + word + " " + flag->value);
      }
      value = arguments[++i];
    }
    const auto [earlier, is_new] = seen.emplace(word, value);
    if (!is_new && flag->value != nullptr && !flag->repeats) {
      return Status(Code::kUsage, word + " is given twice, as \"" + earlier->second +
                                      "\" and as \"" + value + "\": keep one of them");
    }
    ROTA_RETURN_IF_ERROR(flag->set(value).with_context(word));
    if (given != nullptr) given->insert(word);
  }
  return Status();
}

}  // namespace

std::vector<const char*> spread_lists(std::span<const char* const> arguments,
                                      std::span<const char* const> lists, const char* first) {
  std::vector<const char*> words;
  const char* list = first;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (!word.starts_with("--")) {
      if (list != nullptr) words.push_back(list);
      words.push_back(arguments[i]);
      if (list == first) list = nullptr;
      continue;
    }
    const std::string_view name = word.substr(0, word.find('='));
    const auto found = std::find(lists.begin(), lists.end(), name);
    list = found == lists.end() ? nullptr : *found;
    words.push_back(arguments[i]);
    if (word.find('=') == word.npos && i + 1 < arguments.size()) words.push_back(arguments[++i]);
  }
  return words;
}

Status parse_flags(std::span<const char* const> arguments, const std::vector<Flag>& flags,
                   std::set<std::string>* given) {
  const Status status = parse_words(arguments, flags, given);
  return status.ok() ? status : Status(status.code(), one_line(status.message()));
}

Result<std::vector<FlagFromEnvironment>> read_environment(const std::vector<Flag>& flags,
                                                          const std::set<std::string>& given,
                                                          const Environment& environment) {
  std::vector<FlagFromEnvironment> found;
  for (const Flag& flag : flags) {
    if (given.contains(flag.name)) continue;
    std::string first, value;
    for (const FlagVariable& variable : flag.variables) {
      const char* text = environment(variable.name);
      if (text == nullptr || *text == '\0') continue;
      std::string translated = text;
      if (variable.translate != nullptr) {
        auto result = variable.translate(text);
        if (!result.ok()) return result.status().with_context(variable.name);
        translated = std::move(result).value();
      }
      if (translated.empty()) continue;
      if (!first.empty() && translated != value) {
        return Status(Code::kUsage, first + " and " + variable.name +
                                        " disagree: unset one, or give " + flag.name);
      }
      if (!first.empty()) continue;
      ROTA_RETURN_IF_ERROR(flag.set(translated).with_context(variable.name));
      found.push_back({flag.name, variable.name, text});
      first = variable.name;
      value = std::move(translated);
    }
  }
  return found;
}

std::string flags_help(const std::vector<Flag>& flags) {
  size_t width = 0;
  const auto head = [](const Flag& flag) {
    return std::string(flag.name) + (flag.value == nullptr ? "" : std::string(" ") + flag.value);
  };
  for (const Flag& flag : flags) width = std::max(width, head(flag).size());
  std::string text;
  for (const Flag& flag : flags) {
    std::string line = "  " + head(flag);
    line.resize(width + 4, ' ');
    text += line + flag.help;
    for (const FlagVariable& variable : flag.variables) {
      text += std::string(&variable == flag.variables.data() ? " [" : ", ") + variable.name;
    }
    text += flag.variables.empty() ? "\n" : "]\n";
  }
  return text;
}

Result<int> parse_int(const std::string& text, int min, int max) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Status(Code::kUsage, "\"" + text + "\" is not a whole number");
  }
  if (value < min || value > max) {
    return Status(Code::kUsage,
                  text + " is not in " + std::to_string(min) + ".." + std::to_string(max));
  }
  return value;
}

Result<double> parse_number(const std::string& text, double min, double max) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return Status(Code::kUsage, "\"" + text + "\" is not a number");
  }
  if (value < min || value > max) {
    return Status(Code::kUsage, text + " is not in " + shown(min) + ".." + shown(max));
  }
  return value;
}

Result<bool> parse_on_off(const std::string& text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return Status(Code::kUsage, "\"" + text + "\" is neither on nor off");
}

}  // namespace rota
