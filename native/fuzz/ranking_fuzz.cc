// Fuzz target: ranking files. What is accepted is an order of every expert, each once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "experts/ranking.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kLayers = 3, kExperts = 4;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto order = rota::parse_ranking(text, "rank", kLayers, kExperts);
  if (!order.ok()) return 0;
  std::vector<bool> seen(kLayers * kExperts);
  for (const int id : order.value()) {
    ROTA_CHECK(id >= 0 && id < kLayers * kExperts && !seen[static_cast<size_t>(id)], "id", id);
    seen[static_cast<size_t>(id)] = true;
  }
  ROTA_CHECK(order.value().size() == seen.size(), "experts", order.value().size());
  return 0;
}
