// Small safetensors files for tests only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rota {

struct FixtureTensor {
  std::string name, dtype, shape;  // shape as JSON: "[2, 3]"
  std::string data;
};

// The bytes of a file with this JSON as its header.
inline std::string safetensors_bytes(const std::string& json, const std::string& data) {
  const uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + json + data;
}

inline std::string safetensors_bytes(const std::vector<FixtureTensor>& tensors) {
  std::string json = R"({"__metadata__":{"format":"pt"})", data;
  for (const FixtureTensor& t : tensors) {
    const size_t end = data.size() + t.data.size();
    json += ",\"" + t.name + "\":{\"dtype\":\"" + t.dtype + "\",\"shape\":" + t.shape +
            ",\"data_offsets\":[" + std::to_string(data.size()) + "," + std::to_string(end) + "]}";
    data += t.data;
  }
  return safetensors_bytes(json + "}", data);
}

}  // namespace rota
