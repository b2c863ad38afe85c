// One expert over a layer's inputs: what it answers, what fitting gains, and what it does when
// nothing was seen.
#include "quantise/expert_fit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "model/resident_experts.h"
#include "model/weight_fixture.h"
#include "quantise/layer_output.h"
#include "quantise/quantise_fixture.h"

namespace rota {
namespace {

std::unique_ptr<WeightSource> source_in(const TempDir& dir) {
  SyntheticOptions options = options_for("mini-four");
  options.expert_format = Format::kMXFP4;
  return open(write(dir, options));
}

// Rows of x, each for two experts of six, in turn; every fourth row is only measured on.
struct Routes {
  size_t rows;
  std::vector<float> x, weights;
  std::vector<int> ids;
  LayerInputs inputs;

  Routes(size_t n, const Config& c)
      : rows(n),
        x(alike_inputs(1, n, static_cast<size_t>(c.dim))),
        weights(test_values(2, 2 * n)),
        inputs(static_cast<size_t>(c.dim), static_cast<size_t>(c.experts)) {
    for (size_t r = 0; r < n; ++r) {
      for (size_t k = 0; k < 2; ++k) {
        ids.push_back(static_cast<int>((r + 3 * k) % 6));
        weights[2 * r + k] = std::fabs(weights[2 * r + k]) + 0.1f;
      }
      inputs.add(&x[r * inputs.dim], &ids[2 * r], &weights[2 * r], 1, 2, r % 4 == 3);
    }
  }
};

TEST_CASE("the routed sum is the model's, and threads change no bit of it") {
  const TempDir dir;
  const auto source = source_in(dir);
  const Config& c = source->config();
  const Routes routes(300, c);
  const auto full = [&](int expert) { return source_expert(*source, 2, expert); };
  std::vector<std::vector<float>> sums;
  for (const int threads : {1, 3}) {
    ThreadPool pool({.threads = threads, .pin = false});
    auto y = routed_sum(routes.inputs, ExpertShape(c), pool, full);
    REQUIRE(y.ok());
    sums.push_back(std::move(y).value());
  }
  CHECK(sums[0] == sums[1]);
  std::vector<float> expected(sums[0].size());
  ResidentExperts experts(*source, ResidentExperts::Which::kTarget, false);
  REQUIRE(experts
              .run(2, 300, 2, routes.ids.data(), routes.weights.data(), routes.x.data(),
                   expected.data())
              .ok());
  double off = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    off += std::pow(static_cast<double>(expected[i]) - static_cast<double>(sums[0][i]), 2);
    size += std::pow(static_cast<double>(expected[i]), 2);
  }
  CHECK(off < 1e-11 * size);  // sums of 256 floats in two orders
  double measured = 0;
  for (size_t r = 3; r < 300; r += 4) {
    for (size_t d = 0; d < routes.inputs.dim; ++d) {
      measured += std::pow(static_cast<double>(sums[0][r * routes.inputs.dim + d]), 2);
    }
  }
  CHECK(measured_energy(routes.inputs, sums[0]) == doctest::Approx(measured));
}

TEST_CASE("on tokens that no fit saw, GPTQ is better than rounding, and that than plain encoding") {
  const TempDir dir;
  const auto source = source_in(dir);
  const Config& c = source->config();
  const Routes routes(1200, c);
  auto matrices = source_expert(*source, 1, 4);
  REQUIRE(matrices.ok());
  const ExpertFit fit(matrices.value(), ExpertShape(c), routes.inputs, 4);
  const ExpertTrials trials = fit.try_formats();
  CHECK(trials.fit_tokens == 300);
  CHECK(trials.measured_tokens == 100);
  CHECK(fit.error(matrices.value()) == 0);
  for (size_t f = 0; f < kChoices.size(); ++f) {
    CAPTURE(format_info(kChoices[f]).name);
    const FormatTrial& trial = trials.formats[f];
    CHECK(trial.fitted < 0.9 * trial.searched);
    CHECK(trial.searched < trial.nearest);
    CHECK(trial.fitted < trials.energy);
    const std::vector<uint8_t> blob = fit.blob(kChoices[f]);
    CHECK(fit.error(blob_expert(kChoices[f], blob, ExpertShape(c))) == trial.fitted);
    if (f > 0) {
      CHECK(trial.fitted < trials.formats[f - 1].fitted);
      CHECK(trial.weights < trials.formats[f - 1].weights);
    }
  }
}

TEST_CASE("a token counts by the square of the router's weight") {
  const TempDir dir;
  const auto source = source_in(dir);
  const Config& c = source->config();
  const size_t dim = static_cast<size_t>(c.dim);
  auto matrices = source_expert(*source, 1, 0);
  REQUIRE(matrices.ok());
  // Tokens of two kinds, each with its own directions; the second kind hardly counts.
  const std::vector<float> heavy = alike_inputs(5, 400, dim), light = alike_inputs(50, 4000, dim);
  const std::vector<int> ids(4000, 0);
  const auto error_with = [&](size_t light_tokens, float light_weight) {
    LayerInputs inputs(dim, 1);
    const std::vector<float> one(4000, 1.0f), little(4000, light_weight);
    inputs.add(heavy.data(), ids.data(), one.data(), 300, 1, false);
    inputs.add(light.data(), ids.data(), little.data(), light_tokens, 1, false);
    inputs.add(heavy.data() + 300 * dim, ids.data(), one.data(), 100, 1, true);
    const ExpertFit fit(matrices.value(), ExpertShape(c), inputs, 0);
    return fit.error(blob_expert(Format::kQ2_0, fit.blob(Format::kQ2_0), ExpertShape(c)));
  };
  const double alone = error_with(0, 1), beside_light = error_with(4000, 0x1p-10f),
               beside_equals = error_with(4000, 1);
  CHECK(beside_light < 1.02 * alone);
  CHECK(beside_equals > 1.1 * alone);
}

TEST_CASE("an expert that nothing was routed to is rounded, by its weights alone") {
  const TempDir dir;
  const auto source = source_in(dir);
  const Config& c = source->config();
  const LayerInputs nothing(static_cast<size_t>(c.dim), static_cast<size_t>(c.experts));
  auto matrices = source_expert(*source, 0, 0);
  REQUIRE(matrices.ok());
  const ExpertFit fit(matrices.value(), ExpertShape(c), nothing, 0);
  const std::vector<float> alike(256, 1.0f);
  std::vector<uint8_t> expected;
  for (const std::vector<float>& w : matrices.value()) {
    const Scales scales = search_scales(Format::kQ2_0, w.data(), 256, 256, alike.data());
    for (const uint8_t byte : pack_rows(scales, nearest_codes(w.data(), scales))) {
      expected.push_back(byte);
    }
  }
  CHECK(fit.blob(Format::kQ2_0) == expected);
  CHECK(fit.try_formats().measured_tokens == 0);
}

TEST_CASE("a weight that is no number is refused by its place") {
  const TempDir dir;
  const std::string path = write(dir, [] {
    SyntheticOptions options = options_for("mini-four");
    options.expert_format = Format::kMXFP4;
    return options;
  }());
  const FileSpan span = open(path)->expert(2, 3).spans[0];
  const ExpertBlob blob = open(path)->expert(2, 3);
  std::string bytes = read_file(path);
  bytes[span.offset + blob.part_offset[1] + 17 * 5] = '\xff';  // the scale of a block of up
  std::ofstream(path, std::ios::binary) << bytes;
  const auto damaged = source_expert(*open(path), 2, 3);
  CHECK(damaged.status().code() == Code::kLoad);
  CHECK(damaged.status().message() ==
        path + ": layer 2, expert 3: up holds a weight that is no number: the file is damaged");
  CHECK(source_expert(*open(path), 2, 2).ok());
}

}  // namespace
}  // namespace rota
