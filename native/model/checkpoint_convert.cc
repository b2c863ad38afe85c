// The order of writing: both files declared, both filled, the sidecar put in place first and the
// model last, so that a model that is there has its sidecar.
#include "model/checkpoint_convert.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/text_file.h"
#include "formats/gguf_writer.h"
#include "formats/shard_name.h"
#include "model/gguf_config.h"
#include "model/tokenizer_json.h"
#include "model/weight_source.h"

namespace rota {
namespace {

// A whole disk page, so that big tensors can be read past the page cache without edges.
constexpr uint32_t kAlignment = 4096;

Status check_out(const std::string& out) {
  if (!out.ends_with(".gguf") || parse_shard_name(out)) {
    return Status(Code::kUsage, "the model file must be named STEM.gguf, not '" + out + "'");
  }
  for (const std::string& path : {out, sidecar_path(out)}) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) {
      return Status(Code::kUsage, path + " exists; remove it or name another");
    }
  }
  return Status();
}

// The tokenizer of the checkpoint's folder.
Result<ReadTokenizer> folder_tokenizer(const Checkpoint& checkpoint) {
  const std::filesystem::path folder = checkpoint.folder();
  const std::string path = (folder / "tokenizer.json").string();
  const std::string config = (folder / "tokenizer_config.json").string();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return ReadTokenizer{std::nullopt, path + " is missing"};
  }
  ROTA_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  ROTA_ASSIGN_OR_RETURN(ReadTokenizer read,
                        read_tokenizer_json(path, text, checkpoint.config().vocab));
  if (!read.keys) {
    read.why_not = path + ": " + read.why_not;
    return read;
  }
  read.keys->add_bos = true;
  if (!std::filesystem::exists(config, ignored)) return read;
  ROTA_ASSIGN_OR_RETURN(const std::string config_text, read_text_file(config));
  ROTA_ASSIGN_OR_RETURN(read.keys->add_bos, read_add_bos(config, config_text));
  return read;
}

class Conversion {
 public:
  Conversion(const Checkpoint& checkpoint, const ConvertOptions& options)
      : checkpoint_(checkpoint),
        options_(options),
        plan_(plan_gguf(checkpoint, options.formats)),
        model_(options.out, kAlignment),
        sidecar_(sidecar_path(options.out), kAlignment) {}

  Result<ConvertedFiles> run() {
    ROTA_RETURN_IF_ERROR(declare());
    remove_leftovers();
    if (options_.before_write) ROTA_RETURN_IF_ERROR(options_.before_write(files_.bytes));
    ROTA_RETURN_IF_ERROR(model_.begin_data());
    if (has_sidecar()) ROTA_RETURN_IF_ERROR(sidecar_.begin_data());
    ROTA_RETURN_IF_ERROR(fill(plan_.model, model_));
    if (has_sidecar()) {
      ROTA_RETURN_IF_ERROR(fill(plan_.sidecar, sidecar_));
      ROTA_RETURN_IF_ERROR(sidecar_.finish());
    }
    const Status finished = model_.finish();
    if (finished.ok()) return std::move(files_);
    std::error_code ignored;
    if (has_sidecar()) std::filesystem::remove(files_.sidecar, ignored);
    return finished;
  }

 private:
  bool has_sidecar() const { return checkpoint_.has_draft(); }

  // Of a run that was killed: they would be written over, and until then count as room that is
  // taken.
  void remove_leftovers() {
    for (const std::string& path : {files_.model, files_.sidecar}) {
      std::error_code ignored;
      if (!path.empty()) std::filesystem::remove(path + ".tmp", ignored);
    }
  }

  Status declare() {
    ROTA_ASSIGN_OR_RETURN(const ReadTokenizer tokenizer, folder_tokenizer(checkpoint_));
    files_.no_tokenizer = tokenizer.why_not;
    files_.model = options_.out;
    const Config& config = checkpoint_.config();
    write_config(config, Family::kOurs, model_);
    write_tokenizer_keys(config, tokenizer.keys ? &*tokenizer.keys : nullptr, model_);
    ROTA_RETURN_IF_ERROR(declare_tensors(plan_.model, model_));
    if (!has_sidecar()) return Status();
    files_.sidecar = sidecar_path(options_.out);
    write_draft_config(config, sidecar_);
    return declare_tensors(plan_.sidecar, sidecar_);
  }

  Status declare_tensors(const std::vector<PlannedMatrix>& plan, GgufWriter& writer) {
    for (const PlannedMatrix& planned : plan) {
      for (const CheckpointMatrix* matrix : planned.matrices) {
        const auto bytes = row_bytes(planned.format, matrix->columns);
        if (bytes.ok()) {
          total_ += matrix->rows * bytes.value();
          continue;
        }
        return Status(Code::kUsage, "tensor " + matrix->name + ": " + bytes.status().message());
      }
      ROTA_RETURN_IF_ERROR(writer.add_tensor(planned.name, planned.format, planned.ne));
    }
    files_.bytes += writer.file_bytes();
    return Status();
  }

  Status fill(const std::vector<PlannedMatrix>& plan, GgufWriter& writer) {
    for (const PlannedMatrix& planned : plan) {
      for (const CheckpointMatrix* matrix : planned.matrices) {
        ROTA_RETURN_IF_ERROR(fill_matrix(*matrix, planned.format, writer));
      }
      const size_t map_bytes = planned.map.size() * sizeof(int32_t);
      ROTA_RETURN_IF_ERROR(writer.append(planned.map.data(), map_bytes));
    }
    return Status();
  }

  Status fill_matrix(const CheckpointMatrix& matrix, Format format, GgufWriter& writer) {
    const uint64_t bytes = row_bytes(format, matrix.columns).value();
    const uint64_t run = std::max<uint64_t>(1, options_.weights_at_once / matrix.columns);
    for (uint64_t row = 0; row < matrix.rows; row += run) {
      const uint64_t count = std::min(run, matrix.rows - row);
      if (options_.stopped && options_.stopped()) return Status(Code::kCancelled, "interrupted");
      encoded_.resize(count * bytes);
      ROTA_RETURN_IF_ERROR(encode(matrix, format, row, count));
      ROTA_RETURN_IF_ERROR(writer.append(encoded_.data(), encoded_.size()));
      done_ += encoded_.size();
      if (options_.progress) options_.progress(done_, total_);
    }
    return Status();
  }

  Status encode(const CheckpointMatrix& matrix, Format format, uint64_t row, uint64_t count) {
    if (options_.encode) return options_.encode(matrix, format, row, count, encoded_.data());
    if (format == matrix.format) return checkpoint_.read_rows(matrix, row, count, encoded_.data());
    floats_.resize(count * matrix.columns);
    ROTA_RETURN_IF_ERROR(checkpoint_.decode_rows(matrix, row, count, floats_.data()));
    // Rows are whole blocks, so many rows encode as one.
    encode_row(format, floats_.data(), encoded_.data(), floats_.size());
    return Status();
  }

  const Checkpoint& checkpoint_;
  const ConvertOptions& options_;
  const GgufPlan plan_;
  GgufWriter model_, sidecar_;
  ConvertedFiles files_;
  uint64_t done_ = 0, total_ = 0;
  std::vector<uint8_t> encoded_;
  std::vector<float> floats_;
};

}  // namespace

Result<ConvertedFiles> convert_checkpoint(const Checkpoint& checkpoint,
                                          const ConvertOptions& options) {
  ROTA_RETURN_IF_ERROR(check_out(options.out));
  return Conversion(checkpoint, options).run();
}

}  // namespace rota
