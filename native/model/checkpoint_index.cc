// Reading the weight_map, and refusing names of files that are no plain names.
#include "model/checkpoint_index.h"

#include <nlohmann/json.hpp>
#include <set>

namespace rota {
namespace {

using Json = nlohmann::json;

// A file of this folder: a path could lead anywhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// The JSON of the index; discarded when it is none. `twice` is a tensor that is named twice, of
// which a parsed object would keep one.
Json parse_index(std::string_view text, std::string& twice) {
  std::set<std::string> names;
  const auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 2 &&
        !names.insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  return Json::parse(text, callback, false);
}

}  // namespace

Result<CheckpointIndex> read_checkpoint_index(const std::string& path, std::string_view text) {
  const auto fail = [&](const std::string& message) {
    return Status(Code::kLoad, path + ": " + message);
  };
  std::string twice;
  const Json json = parse_index(text, twice);
  if (json.is_discarded()) return fail("is no JSON (is it whole?)");
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    return fail("has no weight_map");
  }
  if (!twice.empty()) return fail("names tensor " + twice + " twice");
  CheckpointIndex index;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    if (!file.is_string() || !is_plain_name(file.get_ref<const std::string&>())) {
      return fail("tensor " + tensor + " is in no file of this folder");
    }
    index.emplace(tensor, file.get<std::string>());
  }
  return index;
}

}  // namespace rota
