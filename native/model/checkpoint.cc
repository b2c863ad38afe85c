// Opening of the folder's texts and shards, finding and checking of tensors, and the look-ups.
#include "model/checkpoint.h"

#include <deque>
#include <filesystem>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/text_file.h"
#include "model/checkpoint_config.h"
#include "model/checkpoint_finder.h"
#include "model/checkpoint_index.h"
#include "model/checkpoint_rows.h"

namespace rota {
namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr size_t kParts = 3;

}  // namespace

struct Checkpoint::Impl {
  std::string folder;
  Config config;
  std::vector<CheckpointMatrix> dense[2], experts[2];  // target, draft
  // (layer, role) -> index into dense
  std::map<std::pair<int, Role>, size_t> places[2];
  std::deque<Safetensors> shards;
  uint64_t ignored = 0;

  std::string path(const std::string& name) const {
    return (std::filesystem::path(folder) / name).string();
  }
  Status fail(const std::string& name, const std::string& message) const {
    return Status(Code::kLoad, path(name) + ": " + message);
  }

  // A text that must be there; `what` says what it is for.
  Result<std::string> text(const char* name, const char* what) const {
    std::error_code ignored_error;
    if (!std::filesystem::exists(path(name), ignored_error)) {
      return fail(name, std::string("missing: ") + what);
    }
    Result<std::string> read = read_text_file(path(name));
    if (!read.ok()) return Status(Code::kLoad, read.status().message());
    return read;
  }

  Status read_config() {
    std::error_code ignored_error;
    if (!std::filesystem::is_directory(folder, ignored_error)) {
      return Status(Code::kLoad, folder +
                                     ": is no folder; name the one that holds config.json and "
                                     "the safetensors files");
    }
    ROTA_ASSIGN_OR_RETURN(const std::string config_text,
                          text("config.json", "the model's sizes, as the release has them"));
    ROTA_ASSIGN_OR_RETURN(CheckpointConfig read,
                          read_checkpoint_config(path("config.json"), config_text));
    if (!read.config.engram_layers.empty()) {
      ROTA_ASSIGN_OR_RETURN(
          const std::string map_text,
          text("engram.json",
               "{\"token_map\": [...]}, the Engram's compressed id of each token; `rota model "
               "convert` makes it where tokenizer.json is beside it"));
      ROTA_RETURN_IF_ERROR(read_token_map(path("engram.json"), map_text, read));
    }
    config = std::move(read.config);
    return validate_config(config).with_context(path("config.json"));
  }

  Status find_tensors();
};

Status Checkpoint::Impl::find_tensors() {
  const std::string index_path = path(kIndexName);
  ROTA_ASSIGN_OR_RETURN(const std::string index_text,
                        text(kIndexName, "it says which file holds which tensor"));
  ROTA_ASSIGN_OR_RETURN(const CheckpointIndex index, read_checkpoint_index(index_path, index_text));
  CheckpointFinder finder(index, index_path);
  ROTA_RETURN_IF_ERROR(finder.open_shards());
  for (const bool draft : {false, true}) {
    if (draft && config.draft_stages == 0) continue;
    for (const ExpectedTensor& expected : draft ? draft_tensors(config) : target_tensors(config)) {
      places[draft].emplace(std::pair{expected.layer, expected.role}, dense[draft].size());
      dense[draft].push_back(implied_matrix(expected, draft, config.draft_stages));
      ROTA_RETURN_IF_ERROR(finder.find(dense[draft].back()));
    }
    const int layers = draft ? config.draft_stages : config.layers;
    const int count = draft ? config.draft_experts : config.experts;
    for (int layer = 0; layer < layers; ++layer) {
      for (int expert = 0; expert < count; ++expert) {
        for (const ExpertPart part : {ExpertPart::kGate, ExpertPart::kUp, ExpertPart::kDown}) {
          experts[draft].push_back(implied_expert(config, draft, layer, expert, part));
          ROTA_RETURN_IF_ERROR(finder.find(experts[draft].back()));
        }
      }
    }
  }
  ROTA_ASSIGN_OR_RETURN(ignored, finder.ignored());
  shards = finder.take_shards();
  return Status();
}

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::~Checkpoint() = default;

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::string& folder) {
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  ROTA_RETURN_IF_ERROR(impl->read_config());
  ROTA_RETURN_IF_ERROR(impl->find_tensors());
  return std::unique_ptr<Checkpoint>(new Checkpoint(std::move(impl)));
}

const std::string& Checkpoint::folder() const { return impl_->folder; }
const Config& Checkpoint::config() const { return impl_->config; }
uint64_t Checkpoint::ignored_tensors() const { return impl_->ignored; }
const std::vector<CheckpointMatrix>& Checkpoint::dense(bool draft) const {
  return impl_->dense[draft];
}

const CheckpointMatrix& Checkpoint::target(Role role, int layer) const {
  const auto place = impl_->places[0].find({layer, role});
  ROTA_CHECK(place != impl_->places[0].end(), role_suffix(role), "layer", layer);
  return impl_->dense[0][place->second];
}

const CheckpointMatrix& Checkpoint::draft(Role role, int stage) const {
  const auto place = impl_->places[1].find({stage, role});
  ROTA_CHECK(place != impl_->places[1].end(), role_suffix(role), "stage", stage);
  return impl_->dense[1][place->second];
}

const CheckpointMatrix& Checkpoint::expert(bool draft, int layer, int expert,
                                           ExpertPart part) const {
  const auto count = static_cast<size_t>(draft ? config().draft_experts : config().experts);
  const size_t place = (static_cast<size_t>(layer) * count + static_cast<size_t>(expert)) * kParts +
                       static_cast<size_t>(part);
  ROTA_CHECK(static_cast<size_t>(expert) < count && place < impl_->experts[draft].size(), "layer",
             layer, "expert", expert);
  return impl_->experts[draft][place];
}

Status Checkpoint::read_rows(const CheckpointMatrix& matrix, uint64_t first, uint64_t count,
                             void* out) const {
  ROTA_CHECK(first <= matrix.rows && count <= matrix.rows - first, matrix.name, first, count);
  return read_checkpoint_rows(matrix, first, count, static_cast<uint8_t*>(out));
}

Status Checkpoint::decode_rows(const CheckpointMatrix& matrix, uint64_t first, uint64_t count,
                               float* out) const {
  const auto bytes = row_bytes(matrix.format, matrix.columns);
  ROTA_CHECK(bytes.ok(), matrix.name, bytes.status().message());
  std::vector<uint8_t> rows(count * bytes.value());
  ROTA_RETURN_IF_ERROR(read_rows(matrix, first, count, rows.data()));
  decode_row(matrix.format, rows.data(), out, count * matrix.columns);
  return Status();
}

}  // namespace rota
