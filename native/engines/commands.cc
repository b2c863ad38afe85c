// Requests from JSON.
#include "engines/commands.h"

#include <algorithm>
#include <array>
#include <climits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/flags.h"

namespace rota {
namespace {

using nlohmann::json;

Command refused(std::optional<int64_t> id, const char* code, std::string message) {
  Command command;
  command.id = id;
  command.code = code;
  command.message = std::move(message);
  return command;
}

constexpr size_t kMostShown = 60;

// At most kMostShown bytes of it, in whole characters.
std::string cut(const std::string& text) {
  if (text.size() <= kMostShown) return text;
  size_t end = kMostShown;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

// A value as an error shows it. What is nested is only named: its text could be as long as the
// line, and as deep as the stack.
std::string shown(const json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  return value.is_string() ? json(cut(value.get_ref<const std::string&>())).dump() : value.dump();
}

// A whole number in min..max. The library compares by casting: 2^64 - 1 would pass for -1.
bool fits(const json& value, int64_t min, int64_t max) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) return false;
  return value.get<int64_t>() >= min && value.get<int64_t>() <= max;
}

// Reads fields of one object; the first one that is wrong is kept as the problem.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  const std::string& problem() const { return problem_; }
  bool has(const char* name) const { return object_.contains(name); }

  void allow_only(std::span<const std::string_view> names) {
    for (const auto& item : object_.items()) {
      if (std::find(names.begin(), names.end(), item.key()) != names.end()) continue;
      const std::string near = item.key().size() > kMostShown ? "" : nearest(item.key(), names);
      fail("unknown field " + shown(item.key()) +
           (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
    }
  }
  template <typename T>
  T whole(const char* name, T fallback, T min, T max) {
    if (!has(name)) return fallback;
    const json& value = object_[name];
    if (!fits(value, static_cast<int64_t>(min), static_cast<int64_t>(max))) {
      fail(std::string(name) + " must be a whole number in " + std::to_string(min) + ".." +
           std::to_string(max) + ", got " + shown(value));
      return fallback;
    }
    return static_cast<T>(value.get<int64_t>());
  }
  double number(const char* name, double fallback, double above, double max, bool inclusive) {
    if (!has(name)) return fallback;
    const json& value = object_[name];
    const bool good = value.is_number() && value.get<double>() <= max &&
                      (value.get<double>() > above || (inclusive && value.get<double>() == above));
    if (good) return value.get<double>();
    fail(std::string(name) + " must be a number " + (inclusive ? "from " : "above ") +
         json(above).dump() + " up to " + json(max).dump() + ", got " + shown(value));
    return fallback;
  }
  bool boolean(const char* name, bool fallback) {
    if (!has(name)) return fallback;
    if (object_[name].is_boolean()) return object_[name].get<bool>();
    fail(std::string(name) + " must be true or false, got " + shown(object_[name]));
    return fallback;
  }
  // Empty when it is not there; a field that is there holds a word.
  std::string text(const char* name) {
    if (!has(name)) return {};
    const json& value = object_[name];
    if (value.is_string() && !value.get_ref<const std::string&>().empty() &&
        value.get_ref<const std::string&>().find('\0') == std::string::npos) {
      return value.get<std::string>();
    }
    fail(std::string(name) + " must be a path, got " + shown(value));
    return {};
  }
  std::vector<int> ids(const char* name, bool required) {
    std::vector<int> out;
    if (!has(name)) {
      if (required) fail(std::string(name) + " is missing: an array of token ids");
      return out;
    }
    const json& value = object_[name];
    if (!value.is_array()) {
      fail(std::string(name) + " must be an array of token ids");
      return out;
    }
    out.reserve(value.size());
    for (const json& id : value) {
      if (!fits(id, INT_MIN, INT_MAX)) {
        fail(std::string(name) + "[" + std::to_string(out.size()) +
             "] is not a token id: " + shown(id));
        return out;
      }
      out.push_back(id.get<int>());
    }
    return out;
  }
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

 private:
  const json& object_;
  std::string problem_;
};

void read_generate(Fields& fields, Command& command) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "id",    "op",   "prompt",     "max_new", "temperature",
      "top_p", "seed", "ignore_eos", "stop",    "stream"};
  fields.allow_only(kNames);
  GenerateRequest& request = command.generate;
  request.id = command.id.value_or(0);
  request.prompt = fields.ids("prompt", true);
  if (!fields.has("max_new")) fields.fail("max_new is missing: how many tokens to generate");
  request.max_new = fields.whole<int>("max_new", 0, 1, INT_MAX);
  request.sampling.temperature = fields.number("temperature", 0, 0, 100, true);
  request.sampling.top_p = fields.number("top_p", 1, 0, 1, false);
  request.sampling.seed =
      static_cast<uint64_t>(fields.whole<int64_t>("seed", 1, INT64_MIN, INT64_MAX));
  request.ignore_eos = fields.boolean("ignore_eos", false);
  request.stop = fields.ids("stop", false);
  command.stream = fields.boolean("stream", false);
}

void read_score(Fields& fields, Command& command) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "id", "op", "tokens", "decode_from", "logits_out", "logits_from"};
  fields.allow_only(kNames);
  ScoreRequest& request = command.score;
  request.id = command.id.value_or(0);
  request.tokens = fields.ids("tokens", true);
  if (fields.has("decode_from")) {
    request.decode_from = fields.whole<int>("decode_from", 1, 1, INT_MAX);
  }
  request.logits_out = fields.text("logits_out");
  request.logits_from = fields.whole<int>("logits_from", 0, 0, INT_MAX);
  if (fields.has("logits_from") && !fields.has("logits_out")) {
    fields.fail("logits_from without logits_out: there is no file to begin");
  }
}

struct OpName {
  std::string_view name;
  Op op;
  bool needs_id;
};
constexpr std::array<OpName, 6> kOps = {{{"generate", Op::kGenerate, true},
                                         {"score", Op::kScore, true},
                                         {"cancel", Op::kCancel, true},
                                         {"stats", Op::kStats, true},
                                         {"reset", Op::kReset, true},
                                         {"quit", Op::kQuit, false}}};

}  // namespace

Command parse_command(const std::string& line) {
  const json body = json::parse(line, nullptr, false);
  if (body.is_discarded()) return refused(std::nullopt, "malformed", "the line is not JSON");
  if (!body.is_object()) return refused(std::nullopt, "malformed", "the line is not a JSON object");
  std::optional<int64_t> id;
  if (body.contains("id")) {
    if (!fits(body["id"], INT64_MIN, INT64_MAX)) {
      return refused(std::nullopt, "malformed",
                     "id must be a whole number, got " + shown(body["id"]));
    }
    id = body["id"].get<int64_t>();
  }
  if (!body.contains("op") || !body["op"].is_string()) {
    return refused(id, "malformed", "op is missing: generate, score, cancel, stats, reset or quit");
  }
  const auto name = body["op"].get<std::string>();
  const auto known =
      std::find_if(kOps.begin(), kOps.end(), [&name](const OpName& op) { return op.name == name; });
  if (known == kOps.end()) {
    return refused(id, "unknown_op",
                   "no such op: " + cut(name) + "; generate, score, cancel, stats, reset or quit");
  }
  if (known->needs_id && !id) {
    return refused(id, "malformed", name + " needs an id, so that its answer can name it");
  }
  Command command;
  command.op = known->op;
  command.id = id;
  Fields fields(body);
  if (command.op == Op::kGenerate) {
    read_generate(fields, command);
  } else if (command.op == Op::kScore) {
    read_score(fields, command);
  } else {
    static constexpr std::array<std::string_view, 2> kNames = {"id", "op"};
    fields.allow_only(kNames);
  }
  if (!fields.problem().empty()) return refused(id, "bad_request", fields.problem());
  return command;
}

}  // namespace rota
