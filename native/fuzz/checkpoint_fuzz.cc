// Fuzz target: the texts of a released checkpoint's folder (config.json, engram.json, the index)
// and a shard's head, with a NUL between each. A matrix that is found lies in its file, with as
// many scales as its rows have blocks. Three of four inputs have one number or word of one text
// changed.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "fuzz/json_mutator.h"
#include "model/checkpoint_config.h"
#include "model/checkpoint_finder.h"
#include "model/checkpoint_index.h"
#include "model/tensor_names.h"

namespace {

using Texts = std::array<std::string_view, 4>;

// What stands behind the last NUL that is used may hold NULs of its own.
Texts split(std::string_view input) {
  Texts texts;
  for (size_t i = 0; i + 1 < texts.size(); ++i) {
    const size_t end = std::min(input.find('\0'), input.size());
    texts[i] = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  texts.back() = input;
  return texts;
}

rota::Result<rota::Config> read_config(const Texts& texts) {
  ROTA_ASSIGN_OR_RETURN(rota::CheckpointConfig read, rota::read_checkpoint_config("c", texts[0]));
  if (!read.config.engram_layers.empty()) {
    ROTA_RETURN_IF_ERROR(rota::read_token_map("e", texts[1], read));
  }
  ROTA_RETURN_IF_ERROR(rota::validate_config(read.config));
  return std::move(read.config);
}

void check_found(const rota::CheckpointMatrix& m) {
  const bool fp4 = m.stored == rota::Stored::kFp4;
  const uint64_t width = m.stored == rota::Stored::kF32    ? 4
                         : m.stored == rota::Stored::kBF16 ? 2
                                                           : 1;
  ROTA_CHECK(m.values->bytes == m.rows * m.columns * width / (fp4 ? 2 : 1), m.name);
  if (!rota::has_scales(m.stored)) return;
  const bool tiles = m.stored == rota::Stored::kFp8Tiles;
  const uint64_t rows = tiles ? (m.rows + 31) / 32 : m.rows;
  ROTA_CHECK(m.columns % 32 == 0 && m.scales->bytes == rows * (m.columns / 32), m.name);
}

// True when it was found.
bool take(rota::CheckpointFinder& finder, rota::CheckpointMatrix matrix) {
  if (!finder.find(matrix).ok()) return false;
  check_found(matrix);
  return true;
}

bool find_all(const rota::Config& c, rota::CheckpointFinder& finder) {
  for (const bool draft : {false, true}) {
    if (draft && c.draft_stages == 0) continue;
    for (const rota::ExpectedTensor& expected :
         draft ? rota::draft_tensors(c) : rota::target_tensors(c)) {
      if (!take(finder, rota::implied_matrix(expected, draft, c.draft_stages))) return false;
    }
    const int layers = draft ? c.draft_stages : c.layers;
    for (int layer = 0; layer < layers; ++layer) {
      for (int expert = 0; expert < (draft ? c.draft_experts : c.experts); ++expert) {
        for (const auto part :
             {rota::ExpertPart::kGate, rota::ExpertPart::kUp, rota::ExpertPart::kDown}) {
          if (!take(finder, rota::implied_expert(c, draft, layer, expert, part))) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const Texts texts = split({reinterpret_cast<const char*>(data), size});
  std::array<std::string, texts.size()> changed;
  std::copy(texts.begin(), texts.end(), changed.begin());
  // The head's length stands in front of its text, and follows it.
  uint64_t length = 0;
  if (changed.back().size() < sizeof(length)) return LLVMFuzzerMutate(data, size, max_size);
  changed.back().erase(0, sizeof(length));
  std::string& text = changed[random() % changed.size()];
  const std::string before = text;
  text = rota::JsonWords(before).changed(random);
  length = changed.back().size();
  std::string head(sizeof(length), '\0');
  std::memcpy(head.data(), &length, sizeof(length));
  changed.back().insert(0, head);
  std::string whole;
  for (const std::string& part : changed) whole.append(part).append(1, '\0');
  whole.pop_back();
  if (whole.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, whole.data(), whole.size());
  return whole.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Texts texts = split({reinterpret_cast<const char*>(data), size});
  const auto config = read_config(texts);
  if (!config.ok()) return 0;
  const auto index = rota::read_checkpoint_index("i", texts[2]);
  if (!index.ok()) return 0;
  // As much data behind the head as the seeds' tensors have.
  constexpr uint64_t kDataBytes = 1 << 22;
  const std::string path = "i";
  rota::CheckpointFinder finder(index.value(), path);
  // One file under all names.
  for (const auto& [tensor, name] : index.value()) {
    if (finder.has_shard(name)) continue;
    auto file = rota::Safetensors::read(name, texts[3], texts[3].size() + kDataBytes);
    if (!file.ok()) return 0;
    finder.add_shard(name, std::move(file).value());
  }
  if (find_all(config.value(), finder)) (void)finder.ignored();
  return 0;
}
