// rota-model inspect and fingerprint: prints what inspect.h finds, as JSON or as text.
#include <cstdio>
#include <string>

#include "tools/inspect.h"
#include "tools/model_tool.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

std::string megabytes(const Json& bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f MB", static_cast<double>(bytes.get<uint64_t>()) * 1e-6);
  return text;
}

void print_experts(const char* whose, const Json& shares) {
  for (const auto& [format, share] : shares.items()) {
    std::printf("  %-7s %-8s %6llu experts of %llu bytes, %s\n", whose, format.c_str(),
                share["experts"].get<unsigned long long>(),
                share["blob_bytes"].get<unsigned long long>(), megabytes(share["bytes"]).c_str());
  }
}

// Of model and Engram tables, and apart that of a sidecar, which no answer depends on.
void print_fingerprints(const Json& j, const char* model, const char* draft) {
  std::printf("%s%s\n", model, j["fingerprint"].get<std::string>().c_str());
  if (j["draft_fingerprint"].is_null()) return;
  std::printf("%s%s\n", draft, j["draft_fingerprint"].get<std::string>().c_str());
}

void print_text(const Json& j) {
  const Json& c = j["config"];
  std::printf("%s: %d layers of width %d, %d experts, top %d, vocabulary %d, %d draft stages\n",
              c["name"].get<std::string>().c_str(), c["layers"].get<int>(), c["dim"].get<int>(),
              c["experts"].get<int>(), c["top_k"].get<int>(), c["vocab"].get<int>(),
              c["draft_stages"].get<int>());
  std::printf("family %s\n", j["family"].get<std::string>().c_str());
  print_fingerprints(j, "fingerprint ", "draft fingerprint ");
  std::printf("files\n");
  for (const Json& file : j["files"]) {
    std::printf("  %s, %s\n", file["path"].get<std::string>().c_str(),
                megabytes(file["bytes"]).c_str());
  }
  std::printf("bytes\n");
  for (const auto& [what, bytes] : j["bytes"].items()) {
    std::printf("  %-14s %s\n", what.c_str(), megabytes(bytes).c_str());
  }
  std::printf("experts\n");
  print_experts("target", j["experts"]["target"]);
  print_experts("draft", j["experts"]["draft"]);
  std::printf("keys\n");
  for (const auto& [key, value] : j["keys"].items()) {
    std::printf("  %s = %s\n", key.c_str(), value.dump().c_str());
  }
  std::printf("tensors\n");
  for (const Json& tensor : j["tensors"]) {
    std::printf("  %-40s %-7s %-18s %s\n", tensor["name"].get<std::string>().c_str(),
                tensor["format"].get<std::string>().c_str(), tensor["ne"].dump().c_str(),
                megabytes(tensor["bytes"]).c_str());
  }
}

// Names from a file may be no UTF-8; they are shown with replacement characters rather than
// refused.
void print_json(const Json& json) {
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

Status inspect_command(std::span<const char* const> arguments) {
  ROTA_ASSIGN_OR_RETURN(const ReadArguments parsed, parse_read_arguments(arguments));
  ROTA_ASSIGN_OR_RETURN(const Json out, inspect_json(parsed));
  if (parsed.json) {
    print_json(out);
  } else {
    print_text(out);
  }
  return Status();
}

Status fingerprint_command(std::span<const char* const> arguments) {
  ROTA_ASSIGN_OR_RETURN(const ReadArguments parsed, parse_read_arguments(arguments));
  ROTA_ASSIGN_OR_RETURN(const Json out, fingerprint_json(parsed));
  if (parsed.json) {
    print_json(out);
  } else {
    print_fingerprints(out, "", "draft ");
  }
  return Status();
}

}  // namespace rota
