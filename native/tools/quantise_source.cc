// OUT.source-HASH.gguf, with a hash of the folder's names, sizes and times.
#include "tools/quantise_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/sha256.h"
#include "model/checkpoint_convert.h"
#include "model/weight_source.h"

namespace rota {
namespace {

namespace fs = std::filesystem;

std::string hash_of(const std::string& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    lines.push_back(entry.path().filename().string() + " " +
                    std::to_string(entry.file_size(ignored)) + " " +
                    std::to_string(entry.last_write_time(ignored).time_since_epoch().count()));
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return sha256_hex(text.data(), text.size()).substr(0, 12);
}

void remove_both(const std::string& gguf) {
  std::error_code ignored;
  fs::remove(gguf, ignored);
  fs::remove(sidecar_path(gguf), ignored);
}

}  // namespace

Result<QuantiseSource> QuantiseSource::open(const std::string& model, const std::string& out,
                                            Progress& progress) {
  QuantiseSource source;
  source.gguf_ = model;
  std::error_code ignored;
  if (!fs::is_directory(model, ignored)) return source;
  source.converted_ = true;
  source.gguf_ = out + ".source-" + hash_of(model) + ".gguf";
  // A conversion's files appear both or not at all; the model is the later one.
  if (fs::exists(source.gguf_, ignored)) return source;
  remove_both(source.gguf_);
  ROTA_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(model));
  ConvertOptions options;
  options.out = source.gguf_;
  options.before_write = [&source](uint64_t bytes) {
    return check_disk(source.gguf_, bytes, "the converted checkpoint");
  };
  options.progress = [&progress](uint64_t done, uint64_t total) {
    progress("converting", 0, done, total);
  };
  ROTA_RETURN_IF_ERROR(convert_checkpoint(*checkpoint, options).status());
  return source;
}

void QuantiseSource::remove() const {
  if (converted_) remove_both(gguf_);
}

}  // namespace rota
