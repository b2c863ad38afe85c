// Fuzz target: files of scripted drafts. What is accepted drafts only tokens of the vocabulary, and
// no more than were asked for.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "decode/draft_oracle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kVocab = 128, kDepth = 5;
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto oracle = rota::DraftOracle::parse(text, "drafts", size % 3 == 0 ? 0 : 2, kVocab);
  if (!oracle.ok()) return 0;
  for (int request = 0; request < 3; ++request) {
    oracle->next_request();
    for (size_t generated = 0; generated < 8; generated += 3) {
      const auto drafts = oracle->draft(generated, kDepth);
      ROTA_CHECK(drafts.size() <= static_cast<size_t>(kDepth));
      for (const int id : drafts) ROTA_CHECK(id >= 0 && id < kVocab, "id", id);
    }
  }
  return 0;
}
