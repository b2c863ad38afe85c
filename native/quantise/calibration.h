// The two rounds over the layers: text through the full weights, every format tried; then text
// through what ships, each layer fitted on the layers below it. Owns their order and where a killed
// one goes on; a layer at a time is in memory.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "device/device.h"
#include "model/layer_pass.h"
#include "quantise/calibration_text.h"
#include "quantise/layer_records.h"
#include "quantise/piece_states.h"
#include "quantise/work_folder.h"

namespace rota {

// The dense half as it ships: fp8 becomes Q8_0, what else there is stays.
Format shipped_dense(Format stored);

// `start` was done before this run.
using QuantiseProgress =
    std::function<void(const char* phase, uint64_t start, uint64_t done, uint64_t total)>;

class Calibration {
 public:
  // All of them must outlive this.
  Calibration(WeightSource& source, Device& device, ThreadPool& pool,
              const std::vector<Piece>& pieces, const WorkFolder& work, QuantiseProgress progress);

  // What each format would cost each expert, by layer.
  Result<std::vector<LayerTrials>> try_formats();
  // Fits all experts in the formats chosen, [layers * experts]; leaves them in the work folder.
  Status fit(const std::vector<int>& choice);
  // A fitted layer, read back. kIo when its record was damaged since: a new start makes it again.
  Result<LayerFit> fitted(int layer) const;

  // How the model that ships differs from the source on the measured pieces. After fit().
  struct Difference {
    uint64_t tokens = 0;     // whose next token is known
    double source_nats = 0;  // mean of -log p(next token)
    double shipped_nats = 0;
    double divergence = 0;  // mean of KL(source || shipped)
    double same_top = 0;    // share of positions with the same most likely token
  };
  Result<Difference> difference();

 private:
  static constexpr int kLogitRows = 64;  // of a piece, at once
  // One round's own part of a layer: makes or reads its record, and gives the routed sum of all
  // tokens, [tokens, dim], that the next layer is to see.
  using Step = std::function<Result<std::vector<float>>(int layer, const LayerInputs& inputs)>;
  using Rounding = Format (*)(Format stored);
  struct Round {
    const char* name;  // of its files
    const char* phase;
    Rounding as;
    std::function<bool(int layer)> recorded;
    Step step;
  };

  Status run(const Round& round);
  // `states` go from what enters the layer to what leaves it.
  Status run_layer(const Round& round, int layer, LayerPass& pass, PieceStates& states);
  Result<LayerInputs> attend(const Round& round, int layer, LayerPass& pass, PieceStates& states);
  // What enters the first layer that is to be run, and which that is.
  Result<PieceStates> resume(const Round& round, LayerPass& pass, int& layer) const;
  Result<std::unique_ptr<LayerPass>> load_pass(Rounding as) const;
  // The file of what leaves the last layer, of the source or of what ships.
  std::string last_states(bool shipped) const;

  Result<std::vector<float>> trial_step(int layer, const LayerInputs& inputs);
  Result<std::vector<float>> fit_step(int layer, const LayerInputs& inputs,
                                      const std::vector<int>& choice);
  Result<LayerFit> fit_layer(int layer, const LayerInputs& inputs, const std::vector<int>& choice);
  // task(expert) on all threads; the first error by expert.
  Status for_each_expert(const char* phase, const LayerInputs& inputs,
                         const std::function<Status(int)>& task);
  Result<std::vector<float>> full_sum(int layer, const LayerInputs& inputs);

  std::optional<LayerTrials> recorded_trials(int layer) const;
  std::optional<LayerFit> recorded_fit(int layer) const;
  void advance(const char* phase);
  uint64_t units_a_layer() const;

  int experts() const { return source_.config().experts; }
  int layers() const { return source_.config().layers; }
  WeightSource& source_;
  Device& device_;
  ThreadPool& pool_;
  const std::vector<Piece>& pieces_;
  const WorkFolder& work_;
  QuantiseProgress progress_;
  int longest_ = 0;
  std::mutex progress_mutex_;
  uint64_t done_ = 0, start_ = 0;
};

}  // namespace rota
