// What a model holds, as JSON: config, files, bytes, experts by format, keys, tensors. Prints
// nothing.
#pragma once

#include <nlohmann/json.hpp>

#include "base/status.h"
#include "tools/model_tool.h"

namespace rota {

Result<nlohmann::ordered_json> inspect_json(const ReadArguments& arguments);
// {"fingerprint", "draft_fingerprint", "files"}
Result<nlohmann::ordered_json> fingerprint_json(const ReadArguments& arguments);

}  // namespace rota
