// Layer after layer: attend over all pieces, the round's own part, then the rest of the layer.
#include "quantise/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "quantise/layer_output.h"

namespace rota {
namespace {

constexpr const char *kFirst = "round1", *kSecond = "round2";
constexpr const char *kTrying = "trying formats", *kFitting = "fitting";

std::string file_of(const char* round, int layer, const char* what) {
  return std::string(round) + "." + std::to_string(layer) + "." + what;
}
std::string record_of(const char* round, int layer) { return file_of(round, layer, "record"); }
std::string states_of(const char* round, int layer) { return file_of(round, layer, "states"); }

bool all_finite(const float* values, size_t n) {
  return std::all_of(values, values + n, [](float value) { return std::isfinite(value); });
}

}  // namespace

Format shipped_dense(Format stored) { return stored == Format::kMXFP8 ? Format::kQ8_0 : stored; }

Calibration::Calibration(WeightSource& source, Device& device, ThreadPool& pool,
                         const std::vector<Piece>& pieces, const WorkFolder& work,
                         QuantiseProgress progress)
    : source_(source),
      device_(device),
      pool_(pool),
      pieces_(pieces),
      work_(work),
      progress_(std::move(progress)) {
  for (const Piece& piece : pieces) {
    longest_ = std::max(longest_, static_cast<int>(piece.tokens.size()));
  }
}

Result<std::vector<LayerTrials>> Calibration::try_formats() {
  ROTA_RETURN_IF_ERROR(run(
      {kFirst, kTrying, nullptr, [this](int layer) { return recorded_trials(layer).has_value(); },
       [this](int layer, const LayerInputs& inputs) { return trial_step(layer, inputs); }}));
  std::vector<LayerTrials> all;
  for (int layer = 0; layer < layers(); ++layer) {
    auto trials = recorded_trials(layer);
    if (!trials) {
      return Status(Code::kIo, work_.path(record_of(kFirst, layer)) +
                                   ": was changed while it was in use; start again");
    }
    all.push_back(std::move(*trials));
  }
  return all;
}

Status Calibration::fit(const std::vector<int>& choice) {
  return run({kSecond, kFitting, shipped_dense,
              [this](int layer) { return recorded_fit(layer).has_value(); },
              [this, &choice](int layer, const LayerInputs& inputs) {
                return fit_step(layer, inputs, choice);
              }});
}

Result<LayerFit> Calibration::fitted(int layer) const {
  auto fit = recorded_fit(layer);
  if (fit) return std::move(*fit);
  return Status(Code::kIo, work_.path(record_of(kSecond, layer)) +
                               ": was changed while it was in use; start again");
}

std::optional<LayerTrials> Calibration::recorded_trials(int layer) const {
  const auto record = work_.get(record_of(kFirst, layer));
  return record ? trials_from(*record, static_cast<size_t>(experts())) : std::nullopt;
}

std::optional<LayerFit> Calibration::recorded_fit(int layer) const {
  const auto record = work_.get(record_of(kSecond, layer));
  return record ? fit_from(*record, static_cast<size_t>(experts())) : std::nullopt;
}

Result<std::unique_ptr<LayerPass>> Calibration::load_pass(Rounding as) const {
  return LayerPass::load(source_, device_, {longest_, kLogitRows, {as, true}});
}

std::string Calibration::last_states(bool shipped) const {
  return work_.path(states_of(shipped ? kSecond : kFirst, layers() - 1));
}

Result<PieceStates> Calibration::resume(const Round& round, LayerPass& pass, int& layer) const {
  int whole = 0;
  while (whole < layers() && round.recorded(whole)) ++whole;
  for (layer = whole; layer > 0; --layer) {
    PieceStates states = PieceStates::reopen(work_.path(states_of(round.name, layer - 1)),
                                             pieces_.size(), pass.carried_bytes());
    if (!states.empty()) return states;
  }
  ROTA_ASSIGN_OR_RETURN(PieceStates states,
                        PieceStates::create(work_.path(file_of(round.name, 0, "begin")),
                                            pieces_.size(), pass.carried_bytes()));
  for (size_t i = 0; i < pieces_.size(); ++i) {
    ROTA_RETURN_IF_ERROR(pass.begin(pieces_[i].tokens, states.of(i)));
  }
  return states;
}

Status Calibration::run(const Round& round) {
  ROTA_ASSIGN_OR_RETURN(const std::unique_ptr<LayerPass> pass, load_pass(round.as));
  int layer = 0;
  ROTA_ASSIGN_OR_RETURN(PieceStates states, resume(round, *pass, layer));
  start_ = done_ = static_cast<uint64_t>(layer) * units_a_layer();
  for (; layer < layers(); ++layer) {
    ROTA_RETURN_IF_ERROR(run_layer(round, layer, *pass, states));
    work_.remove(layer > 0 ? states_of(round.name, layer - 1) : file_of(round.name, 0, "begin"));
  }
  return {};
}

Status Calibration::run_layer(const Round& round, int layer, LayerPass& pass, PieceStates& states) {
  const std::string open_name = file_of(round.name, layer, "open");
  ROTA_ASSIGN_OR_RETURN(PieceStates next, PieceStates::create(work_.path(open_name), pieces_.size(),
                                                              pass.carried_bytes()));
  for (size_t i = 0; i < pieces_.size(); ++i) {
    std::memcpy(next.of(i), states.of(i), pass.carried_bytes());
  }
  ROTA_RETURN_IF_ERROR(pass.enter(layer));
  ROTA_ASSIGN_OR_RETURN(const LayerInputs inputs, attend(round, layer, pass, next));
  ROTA_ASSIGN_OR_RETURN(const std::vector<float> y, round.step(layer, inputs));
  const float* row = y.data();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const size_t rows = pieces_[i].tokens.size();
    pass.finish(static_cast<int>(rows), row, next.of(i));
    row += rows * inputs.dim;
  }
  ROTA_RETURN_IF_ERROR(next.seal(work_.path(states_of(round.name, layer))));
  states = std::move(next);
  return {};
}

Result<LayerInputs> Calibration::attend(const Round& round, int layer, LayerPass& pass,
                                        PieceStates& states) {
  const Config& c = source_.config();
  LayerInputs inputs(static_cast<size_t>(c.dim), static_cast<size_t>(c.experts));
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    ROTA_ASSIGN_OR_RETURN(const LayerPass::Routed routed, pass.attend(piece.tokens, states.of(i)));
    if (!all_finite(routed.x, piece.tokens.size() * inputs.dim)) {
      return Status(Code::kLoad, source_.files().front() + ": layer " + std::to_string(layer) +
                                     " gives its experts values that are no numbers: the file is "
                                     "damaged");
    }
    inputs.add(routed.x, routed.ids, routed.weights, piece.tokens.size(),
               static_cast<size_t>(c.top_k), piece.held_out);
    advance(round.phase);
  }
  return inputs;
}

Result<std::vector<float>> Calibration::full_sum(int layer, const LayerInputs& inputs) {
  return routed_sum(inputs, ExpertShape(source_.config()), pool_,
                    [&](int expert) { return source_expert(source_, layer, expert); });
}

Result<std::vector<float>> Calibration::trial_step(int layer, const LayerInputs& inputs) {
  ROTA_ASSIGN_OR_RETURN(std::vector<float> y, full_sum(layer, inputs));
  if (recorded_trials(layer)) return y;
  const ExpertShape shape(source_.config());
  LayerTrials trials;
  trials.energy = measured_energy(inputs, y);
  trials.experts.resize(static_cast<size_t>(experts()));
  ROTA_RETURN_IF_ERROR(for_each_expert(kTrying, inputs, [&](int expert) -> Status {
    ROTA_ASSIGN_OR_RETURN(const ExpertMatrices matrices, source_expert(source_, layer, expert));
    trials.experts[static_cast<size_t>(expert)] =
        ExpertFit(matrices, shape, inputs, expert).try_formats();
    return {};
  }));
  ROTA_RETURN_IF_ERROR(work_.put(record_of(kFirst, layer), to_record(trials)));
  return y;
}

Result<LayerFit> Calibration::fit_layer(int layer, const LayerInputs& inputs,
                                        const std::vector<int>& choice) {
  const ExpertShape shape(source_.config());
  LayerFit fit;
  fit.experts.resize(static_cast<size_t>(experts()));
  ROTA_RETURN_IF_ERROR(for_each_expert(kFitting, inputs, [&](int expert) -> Status {
    ROTA_ASSIGN_OR_RETURN(const ExpertMatrices matrices, source_expert(source_, layer, expert));
    FittedExpert& out = fit.experts[static_cast<size_t>(expert)];
    out.choice = choice[static_cast<size_t>(layer * experts() + expert)];
    const Format format = kChoices[static_cast<size_t>(out.choice)];
    const ExpertFit fitter(matrices, shape, inputs, expert);
    out.blob = fitter.blob(format);
    out.error = fitter.error(blob_expert(format, out.blob, shape));
    out.energy = fitter.energy();
    return {};
  }));
  return fit;
}

Result<std::vector<float>> Calibration::fit_step(int layer, const LayerInputs& inputs,
                                                 const std::vector<int>& choice) {
  std::optional<LayerFit> fit = recorded_fit(layer);
  const bool recorded = fit.has_value();
  if (!recorded) {
    ROTA_ASSIGN_OR_RETURN(fit, fit_layer(layer, inputs, choice));
  }
  const ExpertShape shape(source_.config());
  ROTA_ASSIGN_OR_RETURN(std::vector<float> y, routed_sum(inputs, shape, pool_, [&](int expert) {
                          const FittedExpert& e = fit->experts[static_cast<size_t>(expert)];
                          return Result<ExpertMatrices>(
                              blob_expert(kChoices[static_cast<size_t>(e.choice)], e.blob, shape));
                        }));
  if (recorded) return y;
  ROTA_ASSIGN_OR_RETURN(std::vector<float> off, full_sum(layer, inputs));
  fit->energy = measured_energy(inputs, off);
  for (size_t i = 0; i < off.size(); ++i) off[i] -= y[i];
  fit->error = measured_energy(inputs, off);
  ROTA_RETURN_IF_ERROR(work_.put(record_of(kSecond, layer), to_record(*fit)));
  return y;
}

Status Calibration::for_each_expert(const char* phase, const LayerInputs& inputs,
                                    const std::function<Status(int)>& task) {
  // Those with most tokens first, so that no thread ends long after the others.
  std::vector<int> order(static_cast<size_t>(experts()));
  std::iota(order.begin(), order.end(), 0);
  const auto tokens = [&inputs](int e) {
    return inputs.fit[static_cast<size_t>(e)].size() +
           inputs.measured[static_cast<size_t>(e)].size();
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return tokens(a) > tokens(b); });
  std::vector<Status> statuses(order.size());
  pool_.run(experts(), [&](int i) {
    const int expert = order[static_cast<size_t>(i)];
    statuses[static_cast<size_t>(expert)] = task(expert);
    advance(phase);
  });
  for (const Status& status : statuses) ROTA_RETURN_IF_ERROR(status);
  return {};
}

uint64_t Calibration::units_a_layer() const {
  return pieces_.size() + static_cast<uint64_t>(experts());
}

void Calibration::advance(const char* phase) {
  const std::lock_guard<std::mutex> lock(progress_mutex_);
  ++done_;
  if (progress_) progress_(phase, start_, done_, static_cast<uint64_t>(layers()) * units_a_layer());
}

}  // namespace rota
