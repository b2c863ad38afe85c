// What a model says it will take is what it takes.
#include <doctest/doctest.h>

#include "model/sequence_fixture.h"

namespace rota {
namespace {

TEST_CASE("bytes of caches and activations are known before anything is taken") {
  for (const int ctx : {1, 100, 700}) {
    for (const int max_rows : {1, 64}) {
      CAPTURE(ctx);
      TestSequence sequence("mini-xs", {.max_rows = max_rows, .ctx = ctx});
      const ModelBytes bytes = model_bytes(sequence.config(), sequence.model().options());
      CHECK(bytes.kv == sequence.model().kv_bytes());
      // Rotation tables and the first collapse are constants of a few KiB.
      const size_t taken = sequence.core().buffer_memory.bytes();
      CHECK(bytes.buffers <= taken);
      CHECK(taken - bytes.buffers < 4096);
    }
  }
}

TEST_CASE("the context is paid for by position and by the pass that may overwrite it") {
  const Config& config = test_model("mini-xs").config();
  ModelOptions options;
  options.ctx = 1000;
  const uint64_t base = model_bytes(config, options).kv;
  options.ctx = 2000;
  // Streams of layers 2 and 4 at a ratio of 2, of layer 5 at 1: a key and an index key a group.
  CHECK(model_bytes(config, options).kv - base ==
        static_cast<uint64_t>(1000 / 2 + 1000 / 2 + 1000) *
            static_cast<uint64_t>(config.head_dim + config.index_head_dim) * sizeof(float));
  options.ctx = 1000;
  options.max_rows += 10;
  // Window rings of every layer and stage, two open-group rings of each stream at a ratio of 2.
  CHECK(model_bytes(config, options).kv - base ==
        static_cast<uint64_t>(10 * config.head_dim) *
            static_cast<uint64_t>(config.layers + config.draft_stages + 4) * sizeof(float));
}

}  // namespace
}  // namespace rota
