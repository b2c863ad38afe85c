// The whole engine with its slots on a GPU against the same engine on the host, on a synthetic
// model: the same tokens, the same lookups from the same tiers.
#include <doctest/doctest.h>

#include <atomic>
#include <numeric>

#include "base/temp_dir.h"
#include "engines/strata/ready.h"
#include "engines/strata/strata_engine.h"
#include "model/synthetic_model.h"

namespace rota {
namespace {

// Written once for all cases. Experts in F16 are multiplied in fp32 on either side; of mixed ones
// the host's pool rounds what they multiply to 16 bits, and a synthetic model's router, which is
// near a tie somewhere in every answer, would choose others.
const std::string& model_path(bool mixed) {
  static TempDir folder;
  static const auto write = [](const std::string& name, bool of_mixed) {
    SyntheticOptions synthetic;
    synthetic.config = "mini-s";
    synthetic.mixed_experts = of_mixed;
    if (!of_mixed) synthetic.expert_format = Format::kF16;
    const auto written = write_synthetic_model(synthetic, folder / name);
    REQUIRE(written.ok());
    return folder / name;
  };
  static const std::string f16 = write("f16.gguf", false), both = write("mixed.gguf", true);
  return mixed ? both : f16;
}

StrataOptions options(bool gpu, bool mixed = false) {
  StrataOptions o;
  o.model = model_path(mixed);
  // Keys that lie between two codes may be rounded to the other one, which is no rounding of sums.
  o.kv_quant = mixed;
  if (gpu) {
    o.device = "cuda:0";
    o.cuda = 0;
  }
  o.arena = SizeValue::share_of_all(0.5);
  o.ctx = 256;
  o.machine.threads = 2;
  return o;
}

std::unique_ptr<StrataEngine> load(const StrataOptions& o) {
  auto engine = StrataEngine::load(o, [](uint64_t, uint64_t) { return true; });
  REQUIRE_MESSAGE(engine.ok(), engine.status().message());
  return std::move(engine).value();
}

GenerateResult answer(StrataEngine& engine, int prompt_tokens) {
  GenerateRequest request;
  for (int i = 0; i < prompt_tokens; ++i) request.prompt.push_back(5 + 7 * i % 900);
  request.max_new = 24;
  request.ignore_eos = true;
  const std::atomic<bool> cancelled{false};
  auto result = engine.decoder().generate(request, 0, cancelled, nullptr);
  REQUIRE_MESSAGE(result.ok(), result.status().message());
  return std::move(result).value();
}

void check_same(const StrataOptions& host, const StrataOptions& gpu) {
  const auto a = load(host);
  const GenerateResult on_host = answer(*a, 20);
  a->release_caller();
  const auto b = load(gpu);
  const GenerateResult on_gpu = answer(*b, 20);
  CHECK(on_gpu.ids == on_host.ids);
  CHECK(on_gpu.decode.passes == on_host.decode.passes);
  CHECK(on_gpu.decode.accepted == on_host.decode.accepted);
  for (const auto& [gpu_tally, host_tally] :
       {std::pair{&on_gpu.decode.experts, &on_host.decode.experts},
        std::pair{&on_gpu.prefill.experts, &on_host.prefill.experts}}) {
    CHECK(gpu_tally->lookups == host_tally->lookups);
    CHECK(gpu_tally->source.of == host_tally->source.of);
    CHECK(gpu_tally->distinct.of == host_tally->distinct.of);
    CHECK(gpu_tally->bytes.of == host_tally->bytes.of);
    CHECK(gpu_tally->admitted == host_tally->admitted);
    CHECK(gpu_tally->demoted == host_tally->demoted);
  }
  CHECK(on_gpu.draft.experts.lookups == on_host.draft.experts.lookups);
  // The same again, from the same start.
  REQUIRE(b->reset().ok());
  const GenerateResult again = answer(*b, 20);
  CHECK(again.ids == on_gpu.ids);
  CHECK(again.logits_sha256 == on_gpu.logits_sha256);
  CHECK(again.decode.experts.source.of == on_gpu.decode.experts.source.of);
  b->release_caller();
}

}  // namespace

TEST_CASE("slots, arena and file, one row a pass") {
  StrataOptions host = options(false), gpu = options(true);
  host.depth = gpu.depth = 0;
  check_same(host, gpu);
}

TEST_CASE("drafts, verified in one pass") { check_same(options(false), options(true)); }

TEST_CASE("a share of the misses is copied") {
  StrataOptions host = options(false), gpu = options(true);
  for (StrataOptions* o : {&host, &gpu}) o->pcie.share = o->batch_pcie.share = 0.5;
  check_same(host, gpu);
}

// With every expert in a slot: where an expert is computed is rounding, and drafts change what is
// in slots when.
TEST_CASE("greedy drafting is plain greedy") {
  StrataOptions plain = options(true, true);
  plain.slots = SizeValue::share_of_all(1.0);
  StrataOptions drafting = plain;
  plain.depth = 0;
  const auto a = load(plain);
  const GenerateResult without = answer(*a, 12);
  a->release_caller();
  const auto b = load(drafting);
  const GenerateResult with = answer(*b, 12);
  b->release_caller();
  CHECK(with.ids == without.ids);
  CHECK(with.decode.passes <= without.decode.passes);
  CHECK(with.decode.experts.source[Source::kHit] == with.decode.rows * 8 * 4);
}

TEST_CASE("an answer the same again, with mixed experts in every place") {
  const auto b = load(options(true, true));
  const GenerateResult with = answer(*b, 12);
  REQUIRE(b->reset().ok());
  const GenerateResult again = answer(*b, 12);
  b->release_caller();
  CHECK(again.ids == with.ids);
  CHECK(again.logits_sha256 == with.logits_sha256);
  CHECK(again.decode.experts.source.of == with.decode.experts.source.of);
  const auto& sources = with.decode.experts.source.of;
  CHECK(std::accumulate(sources.begin(), sources.end(), int64_t{0}) ==
        with.decode.rows * 8 * 4);  // layers, experts a row
  CHECK(with.decode.experts.source[Source::kHit] > 0);
  CHECK(with.decode.experts.source[Source::kCpu] > 0);
  CHECK(with.decode.experts.source[Source::kFile] > 0);
}

TEST_CASE("slots auto take what is free on the GPU, and the load says it") {
  StrataOptions o = options(true);
  o.slots = SizeValue();
  o.slots.kind = SizeValue::Kind::kAuto;
  const auto engine = load(o);
  REQUIRE(engine->budget());
  CHECK(engine->budget()->limit.find("cuda:0") == 0);
  CHECK(engine->experts().placement().count(Tier::kSlot) == 8 * 32);
  CHECK(engine->experts().device().device_bytes() > 0);
  bool said = false;
  for (const std::string& line : ready_lines(*engine)) {
    said = said || line.find("tier: slots lie in the memory of cuda:0") == 0;
  }
  CHECK(said);
  engine->release_caller();
}

TEST_CASE("a GPU that is too small is refused before anything is taken") {
  StrataOptions o = options(true);
  o.ctx = 1 << 30;
  const auto refused = StrataEngine::load(o, [](uint64_t, uint64_t) { return true; });
  REQUIRE(!refused.ok());
  CHECK(refused.status().code() == Code::kOutOfMemory);
  CHECK(refused.status().message().find("by cuda:0") != std::string::npos);
  CHECK(refused.status().message().find("lower --ctx") != std::string::npos);
}

}  // namespace rota
