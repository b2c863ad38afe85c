// Sums over experts, each layer by its routed energy, and their words.
#include "quantise/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/check.h"
#include "model/expert_blobs.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k) out[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return out;
}

// Errors of a format over all experts that enough was seen of, each layer by its routed energy.
struct FormatSums {
  double nearest = 0, searched = 0, fitted = 0, energy = 0;
};

FormatSums sums_of(const std::vector<LayerTrials>& trials, size_t format) {
  FormatSums sums;
  for (const LayerTrials& layer : trials) {
    for (const ExpertTrials& expert : layer.experts) {
      if (expert.measured_tokens < kFewestMeasured) continue;
      const FormatTrial& t = expert.formats[format];
      sums.nearest += ratio(t.nearest, layer.energy);
      sums.searched += ratio(t.searched, layer.energy);
      sums.fitted += ratio(t.fitted, layer.energy);
      sums.energy += ratio(expert.energy, layer.energy);
    }
  }
  return sums;
}

Json formats_json(const ReportInputs& in) {
  Json out;
  for (size_t f = 0; f < kChoices.size(); ++f) {
    const FormatSums sums = sums_of(in.trials, f);
    const auto count =
        std::count(in.allocation.format.begin(), in.allocation.format.end(), static_cast<int>(f));
    out[format_info(kChoices[f]).name] = {
        {"experts", count},
        {"expertShare",
         ratio(static_cast<double>(count), static_cast<double>(in.allocation.format.size()))},
        {"relativeOutputError", std::sqrt(ratio(sums.fitted, sums.energy))},
        {"errorToPlainRounding", std::sqrt(ratio(sums.fitted, sums.nearest))},
        {"errorToRoundingWithSearchedScales", std::sqrt(ratio(sums.fitted, sums.searched))},
    };
  }
  return out;
}

struct Mix {
  double uniform = 0, mixed = 0;                    // squared errors over routed energy
  double weighted_uniform = 0, weighted_mixed = 0;  // the same as the allocator counts them
};

Mix mix_of(const ReportInputs& in) {
  Mix mix;
  const auto experts = static_cast<size_t>(in.config.experts);
  for (size_t l = 0; l < in.trials.size(); ++l) {
    const LayerTrials& layer = in.trials[l];
    const double share = layer_share(layer, static_cast<int>(l), in.config.layers);
    for (size_t e = 0; e < experts; ++e) {
      const auto chosen = static_cast<size_t>(in.allocation.format[l * experts + e]);
      const double uniform = layer.experts[e].formats[kDefaultChoice].fitted,
                   mixed = layer.experts[e].formats[chosen].fitted;
      mix.uniform += ratio(uniform, layer.energy);
      mix.mixed += ratio(mixed, layer.energy);
      mix.weighted_uniform += share * uniform;
      mix.weighted_mixed += share * mixed;
    }
  }
  return mix;
}

Json mix_json(const ReportInputs& in) {
  const Mix mix = mix_of(in);
  return {{"bytes", in.allocation.bytes},
          {"budgetBytes", in.allocation.budget},
          {"errorToUniform", std::sqrt(ratio(mix.mixed, mix.uniform))},
          {"squaredErrorToUniform", ratio(mix.mixed, mix.uniform)},
          {"costToUniform", ratio(mix.weighted_mixed, mix.weighted_uniform)},
          {"costToBound", ratio(in.allocation.cost, in.allocation.bound)}};
}

// Does an expert whose weights round badly also answer badly? By layer, for Q2_0.
struct Correlations {
  double cost = 0, relative = 0;  // with error over the layer's energy; over the expert's own
};

Correlations correlations_of(const LayerTrials& layer) {
  std::vector<double> weights, cost, relative;
  for (const ExpertTrials& expert : layer.experts) {
    if (expert.measured_tokens < kFewestMeasured) continue;
    const FormatTrial& t = expert.formats[kDefaultChoice];
    weights.push_back(t.weights);
    cost.push_back(t.fitted);
    relative.push_back(ratio(t.fitted, expert.energy));
  }
  return {rank_correlation(weights, cost), rank_correlation(weights, relative)};
}

double uniform_error(const LayerTrials& layer) {
  double sum = 0;
  for (const ExpertTrials& e : layer.experts) sum += e.formats[kDefaultChoice].fitted;
  return std::sqrt(ratio(sum, layer.energy));
}

Json layers_json(const ReportInputs& in) {
  Json out = Json::array();
  const auto experts = static_cast<size_t>(in.config.experts);
  for (size_t l = 0; l < in.trials.size(); ++l) {
    const LayerTrials& layer = in.trials[l];
    const LayerFit& fit = in.fitted[l];
    Json mix;
    for (size_t f = 0; f < kChoices.size(); ++f) {
      const auto begin = in.allocation.format.begin() + static_cast<std::ptrdiff_t>(l * experts);
      mix[format_info(kChoices[f]).name] =
          std::count(begin, begin + static_cast<std::ptrdiff_t>(experts), static_cast<int>(f));
    }
    const auto few =
        std::count_if(layer.experts.begin(), layer.experts.end(),
                      [](const ExpertTrials& e) { return e.measured_tokens < kFewestMeasured; });
    const Correlations correlations = correlations_of(layer);
    out.push_back({{"layer", l},
                   {"uniformQ2_0Error", uniform_error(layer)},
                   {"shippedError", std::sqrt(ratio(fit.error, fit.energy))},
                   {"experts", mix},
                   {"expertsSeenTooLittle", few},
                   {"rankCorrelationOfWeightErrorWithCost", correlations.cost},
                   {"rankCorrelationOfWeightErrorWithRelativeError", correlations.relative}});
  }
  return out;
}

Correlations mean_correlations(const std::vector<LayerTrials>& trials) {
  Correlations mean;
  for (const LayerTrials& layer : trials) {
    const Correlations c = correlations_of(layer);
    mean.cost += c.cost / static_cast<double>(trials.size());
    mean.relative += c.relative / static_cast<double>(trials.size());
  }
  return mean;
}

// Layers, the most sensitive first.
std::vector<size_t> by_sensitivity(const std::vector<LayerTrials>& trials) {
  std::vector<size_t> order(trials.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return uniform_error(trials[a]) > uniform_error(trials[b]);
  });
  return order;
}

Json text_json(const std::vector<Piece>& pieces) {
  uint64_t fit = 0, measured = 0;
  for (const Piece& piece : pieces) (piece.held_out ? measured : fit) += piece.tokens.size();
  return {{"pieces", pieces.size()}, {"fitTokens", fit}, {"measuredTokens", measured}};
}

template <typename... Values>
std::string line(const char* format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  return std::string(text) + "\n";
}

}  // namespace

double layer_share(const LayerTrials& trials, int layer, int layers) {
  const bool doubled = layer < kFirstDoubled || layer >= layers - kLastDoubled;
  return ratio(doubled ? 2 : 1, trials.energy);
}

std::vector<Candidate> candidates(const std::vector<LayerTrials>& trials) {
  std::vector<Candidate> out;
  const int layers = static_cast<int>(trials.size());
  for (int layer = 0; layer < layers; ++layer) {
    const LayerTrials& t = trials[static_cast<size_t>(layer)];
    const double share = layer_share(t, layer, layers);
    for (const ExpertTrials& expert : t.experts) {
      Candidate c;
      c.layer = layer;
      c.locked = expert.measured_tokens < kFewestMeasured;
      for (const FormatTrial& format : expert.formats) c.cost.push_back(share * format.fitted);
      out.push_back(std::move(c));
    }
  }
  return out;
}

AllocationRules allocation_rules(const Config& config) {
  AllocationRules rules;
  for (const Format format : kChoices) {
    const auto parts = expert_part_bytes(config, format);
    ROTA_CHECK(parts.ok(), parts.status().message());
    rules.bytes.push_back(parts.value()[0] + parts.value()[1] + parts.value()[2]);
  }
  rules.default_format = kDefaultChoice;
  rules.capped_format = kTernaryChoice;
  return rules;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  ROTA_CHECK(a.size() == b.size(), a.size(), "values beside", b.size());
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::string report_json(const ReportInputs& in) {
  const Correlations mean = mean_correlations(in.trials);
  const Calibration::Difference& d = in.difference;
  const Json out = {{"model", in.config.name},
                    {"text", text_json(in.pieces)},
                    {"formats", formats_json(in)},
                    {"mix", mix_json(in)},
                    {"mostSensitiveLayers", by_sensitivity(in.trials)},
                    {"rankCorrelationOfWeightErrorWithCost", mean.cost},
                    {"rankCorrelationOfWeightErrorWithRelativeError", mean.relative},
                    {"layers", layers_json(in)},
                    {"heldOut",
                     {{"tokens", d.tokens},
                      {"sourceNatsPerToken", d.source_nats},
                      {"shippedNatsPerToken", d.shipped_nats},
                      {"divergenceNatsPerToken", d.divergence},
                      {"sameTopShare", d.same_top}}},
                    {"bytes", in.bytes}};
  return out.dump(2) + "\n";
}

std::string report_text(const ReportInputs& in) {
  std::string out = line("%-8s %8s %8s %16s %17s", "format", "experts", "error", "to plain round.",
                         "to searched scales");
  for (size_t f = 0; f < kChoices.size(); ++f) {
    const FormatSums s = sums_of(in.trials, f);
    const auto count =
        std::count(in.allocation.format.begin(), in.allocation.format.end(), static_cast<int>(f));
    out += line("%-8s %8ld %8.3f %16.2f %17.2f", format_info(kChoices[f]).name,
                static_cast<long>(count), std::sqrt(ratio(s.fitted, s.energy)),
                std::sqrt(ratio(s.fitted, s.nearest)), std::sqrt(ratio(s.fitted, s.searched)));
  }
  const Mix mix = mix_of(in);
  out += line("mix against uniform Q2_0 at equal bytes: error %.1f %% lower",
              100 * (1 - std::sqrt(ratio(mix.mixed, mix.uniform))));
  const size_t worst = by_sensitivity(in.trials).front();
  out += line("most sensitive layer: %zu (%.1f %% of its routed output at uniform Q2_0)", worst,
              100 * uniform_error(in.trials[worst]));
  const Correlations mean = mean_correlations(in.trials);
  out += line("rank correlation of weight-only with measured error: %.2f (relative: %.2f)",
              mean.cost, mean.relative);
  const Calibration::Difference& d = in.difference;
  out += line("held-out text: %.3f nats a token, source %.3f; same first choice %.1f %%",
              d.shipped_nats, d.source_nats, 100 * d.same_top);
  return out;
}

}  // namespace rota
