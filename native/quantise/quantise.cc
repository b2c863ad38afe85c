// From the source to the two files.
#include "quantise/quantise.h"

#include "base/sha256.h"
#include "base/text_file.h"
#include "base/thread_pool.h"
#include "device/host/host_device.h"
#include "quantise/report.h"

namespace rota {
namespace {

// Raised when the same inputs no longer give the same bytes: old work is then of no use.
constexpr int kMethod = 1;

Status check_shapes(const Config& c) {
  for (const int columns : {c.dim, c.moe_inter}) {
    for (const Format format : kChoices) {
      if (const auto row = row_bytes(format, static_cast<uint64_t>(columns)); !row.ok()) {
        return {Code::kUsage, "this model's experts do not fit: " + row.status().message()};
      }
    }
  }
  return {};
}

std::string inputs_of(const QuantiseOptions& options, const WeightSource& source,
                      const std::vector<Piece>& pieces) {
  Sha256 text;
  for (const Piece& piece : pieces) {
    const uint64_t head[] = {piece.tokens.size(), piece.held_out ? 1u : 0u};
    text.update(head, sizeof head);
    text.update(piece.tokens.data(), piece.tokens.size() * sizeof(int));
  }
  return "method " + std::to_string(kMethod) + "\nweights " + source.fingerprint() + "\ntext " +
         hex(text.finish()) + "\nwindow " + std::to_string(options.window) + "\n";
}

std::string report_path(const QuantiseOptions& options) {
  if (!options.report.empty()) return options.report;
  constexpr std::string_view kEnd = ".gguf";
  return options.out.substr(0, options.out.size() - kEnd.size()) + ".quantise.json";
}

}  // namespace

Result<Quantised> quantise(const QuantiseOptions& options) {
  if (!options.out.ends_with(".gguf")) {
    return Status(Code::kUsage, "--out must be named STEM.gguf, not '" + options.out + "'");
  }
  ROTA_ASSIGN_OR_RETURN(const auto source, WeightSource::open(options.model));
  const Config& config = source->config();
  ROTA_RETURN_IF_ERROR(check_shapes(config));
  ROTA_ASSIGN_OR_RETURN(const std::vector<Piece> pieces,
                        read_pieces(options.text, static_cast<size_t>(options.window), config));
  ROTA_ASSIGN_OR_RETURN(
      const WorkFolder work,
      WorkFolder::open(options.out + ".work", inputs_of(options, *source, pieces)));
  ThreadPool pool({.threads = options.threads, .pin = false, .name = "rota-quantise"});
  const std::unique_ptr<Device> device = make_host_device(&pool);
  Calibration calibration(*source, *device, pool, pieces, work, options.progress);
  ROTA_ASSIGN_OR_RETURN(const std::vector<LayerTrials> trials, calibration.try_formats());
  const Allocation allocation = allocate(candidates(trials), allocation_rules(config));
  ROTA_RETURN_IF_ERROR(calibration.fit(allocation.format));
  ROTA_ASSIGN_OR_RETURN(const Calibration::Difference difference, calibration.difference());

  std::vector<LayerFit> fitted;
  ShippedChoice shipped{allocation.format, [&](int layer) { return calibration.fitted(layer); },
                        options.engram_tables};
  Quantised out;
  ROTA_ASSIGN_OR_RETURN(out.files, write_shipped(*source, options.model, shipped, options.out));
  for (int layer = 0; layer < config.layers; ++layer) {
    ROTA_ASSIGN_OR_RETURN(LayerFit fit, calibration.fitted(layer));
    for (FittedExpert& expert : fit.experts) expert.blob.clear();
    fitted.push_back(std::move(fit));
  }
  const ReportInputs report = {config, pieces,     trials,         allocation,
                               fitted, difference, out.files.bytes};
  out.report = report_path(options);
  out.text = report_text(report);
  ROTA_RETURN_IF_ERROR(write_text_file(out.report, report_json(report)));
  work.clear();
  return out;
}

}  // namespace rota
