// Finding the tables, checking them, and putting scales before codes.
#include "model/engram_source.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/sha256.h"

namespace rota {
namespace {

constexpr uint64_t kBlock = 32;
constexpr std::string_view kPrefix = "layers.", kSuffix = ".engram.embed.weight";
constexpr uint64_t kSample = uint64_t{1} << 20;

// The files that a word of --from means: itself, or what a folder holds.
Result<std::vector<std::string>> files_of(const std::string& from) {
  std::error_code error;
  if (!std::filesystem::is_directory(from, error)) return std::vector<std::string>{from};
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator it(from, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".safetensors") found.push_back(it->path().string());
  }
  if (error) return Status(Code::kLoad, from + ": cannot be listed: " + error.message());
  if (found.empty()) return Status(Code::kLoad, from + ": holds no .safetensors file");
  std::sort(found.begin(), found.end());
  return found;
}

// N of "layers.N.engram.embed.weight", else -1.
int table_layer(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  if (name.size() <= kPrefix.size() + kSuffix.size()) return -1;
  name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  int layer = -1;
  const auto [stop, failed] = std::from_chars(name.data(), name.data() + name.size(), layer);
  return failed == std::errc() && stop == name.data() + name.size() && layer < 1 << 16 ? layer : -1;
}

Status check_table(const EngramTable& table) {
  const auto fail = [](const Safetensors& file, const SafetensorsTensor& tensor,
                       const std::string& message) {
    return Status(Code::kLoad, file.path() + ": tensor " + tensor.name + " " + message);
  };
  if (table.codes->dtype != "F8_E4M3" || table.codes->shape.size() != 2 ||
      table.dim % kBlock != 0 || table.dim == 0 || table.rows == 0) {
    return fail(*table.codes_in, *table.codes,
                "is no F8_E4M3 matrix with rows of a multiple of 32");
  }
  const std::vector<uint64_t> expected = {table.rows, table.dim / kBlock};
  const bool type = table.scales->dtype == "F8_E8M0" || table.scales->dtype == "U8";
  if (type && table.scales->shape == expected) return Status();
  return fail(*table.scales_in, *table.scales,
              "is no F8_E8M0 matrix of " + std::to_string(expected[0]) + " rows of " +
                  std::to_string(expected[1]));
}

}  // namespace

Result<EngramSource> EngramSource::open(const std::vector<std::string>& from) {
  std::deque<Safetensors> files;
  for (const std::string& word : from) {
    ROTA_ASSIGN_OR_RETURN(const std::vector<std::string> paths, files_of(word));
    for (const std::string& path : paths) {
      ROTA_ASSIGN_OR_RETURN(Safetensors file, Safetensors::open(path));
      files.push_back(std::move(file));
    }
  }
  return of(std::move(files), from.empty() ? "--from" : from.front());
}

Result<EngramSource> EngramSource::of(std::deque<Safetensors> files, const std::string& named) {
  EngramSource source;
  source.files_ = std::move(files);
  ROTA_RETURN_IF_ERROR(source.find_tables());
  if (!source.tables_.empty()) return source;
  return Status(Code::kLoad, named + ": no tensor layers.N.engram.embed.weight in " +
                                 std::to_string(source.files_.size()) + " files");
}

Status EngramSource::find_tables() {
  for (const Safetensors& file : files_) {
    for (const SafetensorsTensor& tensor : file.tensors()) {
      const int layer = table_layer(tensor.name);
      if (layer < 0) continue;
      EngramTable table;
      table.layer = layer;
      table.codes_in = &file;
      table.codes = &tensor;
      if (tensor.shape.size() == 2) table.rows = tensor.shape[0], table.dim = tensor.shape[1];
      const std::string scale = "layers." + std::to_string(layer) + ".engram.embed.scale";
      for (const Safetensors& other : files_) {
        const SafetensorsTensor* const found = other.tensor(scale);
        if (found != nullptr) table.scales_in = &other, table.scales = found;
      }
      if (table.scales == nullptr) {
        return Status(Code::kLoad, file.path() + ": tensor " + tensor.name + " is there, " + scale +
                                       " is in none of the files");
      }
      ROTA_RETURN_IF_ERROR(check_table(table));
      for (const EngramTable& before : tables_) {
        if (before.layer != layer) continue;
        return Status(Code::kLoad, file.path() + ": tensor " + tensor.name + " is also in " +
                                       before.codes_in->path());
      }
      tables_.push_back(table);
    }
  }
  std::sort(tables_.begin(), tables_.end(),
            [](const EngramTable& a, const EngramTable& b) { return a.layer < b.layer; });
  return Status();
}

Status EngramSource::read(const EngramTable& table, uint64_t first, uint64_t count, uint8_t* out) {
  const uint64_t blocks = table.dim / kBlock;
  codes_.resize(count * table.dim);
  scales_.resize(count * blocks);
  ROTA_RETURN_IF_ERROR(table.codes_in->file().read(table.codes->offset + first * table.dim,
                                                   codes_.size(), codes_.data()));
  ROTA_RETURN_IF_ERROR(table.scales_in->file().read(table.scales->offset + first * blocks,
                                                    scales_.size(), scales_.data()));
  const uint8_t* codes = codes_.data();
  for (const uint8_t scale : scales_) {
    *out = scale;
    std::memcpy(out + 1, codes, kBlock);
    out += 1 + kBlock;
    codes += kBlock;
  }
  return Status();
}

Result<std::string> EngramSource::identity() const {
  Sha256 hash;
  std::vector<uint8_t> sample;
  for (const EngramTable& table : tables_) {
    const uint64_t numbers[] = {static_cast<uint64_t>(table.layer), table.rows, table.dim};
    hash.update(numbers, sizeof(numbers));
    for (const auto& [file, tensor] :
         {std::pair{table.codes_in, table.codes}, {table.scales_in, table.scales}}) {
      const uint64_t bytes = std::min(kSample, tensor->bytes);
      sample.resize(bytes);
      for (const uint64_t at : {tensor->offset, tensor->offset + tensor->bytes - bytes}) {
        ROTA_RETURN_IF_ERROR(file->file().read(at, bytes, sample.data()));
        hash.update(sample.data(), bytes);
      }
    }
  }
  return hex(hash.finish());
}

}  // namespace rota
