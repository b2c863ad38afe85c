// A layer at a time over several stretches in turn, against whole passes over each.
#include "model/layer_pass.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "model/sequence_fixture.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

struct Stretch {
  std::vector<int> tokens;
  std::vector<uint8_t> carried;
};

std::unique_ptr<LayerPass> load(WeightSource& source, Device& device, int rows,
                                MatrixForm as = {}) {
  auto pass = LayerPass::load(source, device, {rows, rows, as});
  REQUIRE_MESSAGE(pass.ok(), pass.status().message());
  return std::move(pass).value();
}

// Every stretch's logits, all stretches at a layer before any at the next.
std::vector<std::vector<float>> by_layers(LayerPass& pass, WeightSource& source,
                                          std::vector<Stretch>& stretches) {
  const Config& c = pass.config();
  ResidentExperts experts(source, ResidentExperts::Which::kTarget, false);
  for (Stretch& s : stretches) {
    s.carried.resize(pass.carried_bytes());
    REQUIRE(pass.begin(s.tokens, s.carried.data()).ok());
  }
  for (int layer = 0; layer < c.layers; ++layer) {
    REQUIRE(pass.enter(layer).ok());
    std::vector<std::vector<float>> sums;
    for (Stretch& s : stretches) {
      const auto routed = pass.attend(s.tokens, s.carried.data());
      REQUIRE(routed.ok());
      const int rows = static_cast<int>(s.tokens.size());
      std::vector<float>& y = sums.emplace_back(s.tokens.size() * static_cast<size_t>(c.dim));
      REQUIRE(experts
                  .run(layer, rows, c.top_k, routed.value().ids, routed.value().weights,
                       routed.value().x, y.data())
                  .ok());
    }
    for (size_t i = 0; i < stretches.size(); ++i) {
      const int rows = static_cast<int>(stretches[i].tokens.size());
      pass.finish(rows, sums[i].data(), stretches[i].carried.data());
    }
  }
  std::vector<std::vector<float>> logits;
  for (const Stretch& s : stretches) {
    const float* out = pass.logits(static_cast<int>(s.tokens.size()), 0, s.carried.data());
    logits.emplace_back(out, out + s.tokens.size() * static_cast<size_t>(c.vocab));
  }
  return logits;
}

TEST_CASE("layer by layer over several stretches: the bits of a pass over each") {
  for (const char* name : {"mini-xs", "mini-xs2"}) {
    CAPTURE(name);
    WeightSource& source = test_model(name);
    const std::unique_ptr<Device> device = make_host_device(nullptr);
    std::vector<Stretch> stretches = {{test_tokens(source.config(), 1, 60), {}},
                                      {test_tokens(source.config(), 2, 60), {}},
                                      {test_tokens(source.config(), 3, 17), {}}};
    const std::unique_ptr<LayerPass> pass = load(source, *device, 60);
    const auto logits = by_layers(*pass, source, stretches);
    for (size_t i = 0; i < stretches.size(); ++i) {
      CAPTURE(i);
      const std::vector<int>& tokens = stretches[i].tokens;
      TestSequence whole(name, {});
      CHECK(same_bits(logits[i], whole.run(tokens, static_cast<int>(tokens.size()))));
    }
  }
}

Format to_small_floats(Format stored) { return stored == Format::kF16 ? Format::kMXFP8 : stored; }

std::vector<float> logits_as(WeightSource& source, MatrixForm as) {
  const std::unique_ptr<Device> device = make_host_device(nullptr);
  std::vector<Stretch> stretches = {{test_tokens(source.config(), 4, 30), {}}};
  return by_layers(*load(source, *device, 30, as), source, stretches)[0];
}

TEST_CASE(
    "dense matrices can be rounded on the way in: no bit where both formats hold the values") {
  const TempDir dir;
  SyntheticOptions options = options_for("mini-xs");
  options.dense_format = Format::kF16;
  for (const bool grid : {true, false}) {
    options.values = grid ? ValueKind::kGrid : ValueKind::kNormal;
    const auto source = open(write(dir, options));
    const std::vector<float> stored = logits_as(*source, {}),
                             rounded = logits_as(*source, {to_small_floats});
    CHECK(same_bits(rounded, stored) == grid);
    // Decoded beforehand or on the way makes no difference at all.
    CHECK(same_bits(logits_as(*source, {nullptr, true}), stored));
    CHECK(same_bits(logits_as(*source, {to_small_floats, true}), rounded));
  }
}

TEST_CASE("tokens that are too many or none of the model's are refused") {
  WeightSource& source = test_model("mini-xs");
  const std::unique_ptr<Device> device = make_host_device(nullptr);
  const std::unique_ptr<LayerPass> pass = load(source, *device, 4);
  std::vector<uint8_t> carried(pass->carried_bytes());
  CHECK(pass->begin(std::vector<int>(5, 1), carried.data()).message() ==
        "a stretch of 5 tokens: it must have 1..4");
  CHECK(pass->begin(std::vector<int>{1, 128}, carried.data()).code() == Code::kBadRequest);
}

}  // namespace
}  // namespace rota
