// The Engram sublayer: rows are read from the file's table one by one, where the hash points, and
// counted there.
#include <span>

#include "formats/block.h"
#include "model/engram_hash.h"
#include "model/sublayers.h"

namespace rota {
namespace {

// [columns * engram dim] of one position.
void read_rows(Core& core, const WeightTensor& table, float* out) {
  const size_t dim = static_cast<size_t>(core.config.engram_head_dim);
  for (const int64_t row : core.buffers.engram_rows) {
    decode_row(table.format, table.row(static_cast<uint64_t>(row)), out, dim);
    core.counters.engram_rows += 1;
    core.counters.engram_bytes += table.row_bytes;
    out += dim;
  }
}

}  // namespace

void apply_engram(Core& core, int layer, int first, int rows) {
  const Config& c = core.config;
  Buffers& b = core.buffers;
  const LayerWeights& w = core.weights.layers[static_cast<size_t>(layer)];
  const WeightTensor& table = core.source.target(Role::kEngramEmbed, layer);
  const int which = c.engram_index(layer), width = c.engram_columns() * c.engram_head_dim;
  for (int r = 0; r < rows; ++r) {
    const size_t seen = static_cast<size_t>(first + r + 1);
    engram_rows(c, which, std::span(core.caches.compressed_ids.as<int32_t>(), seen),
                b.engram_rows.data());
    read_rows(core, table, b.host_e.data() + static_cast<size_t>(r) * static_cast<size_t>(width));
  }
  const size_t count = static_cast<size_t>(rows) * static_cast<size_t>(width);
  core.device.upload(b.engram_e.address(), b.host_e.data(), count * sizeof(float));
  core.linear(w.engram_kv, core.as_quantised_input(b.engram_e, rows, width), rows, b.engram_kv);
  core.device.engram_gate(b.h, b.engram_kv, w.engram_q, w.engram_k, rows, c.hc_mult, c.dim,
                          c.rms_eps);
}

}  // namespace rota
