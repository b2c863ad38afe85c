// The cuts over rows, heads and keys.
#include "device/host/attention_rows.h"

#include <algorithm>

#include "device/host/attention_core.h"

namespace rota {
namespace {

// Keys decoded at a time: a few rows of the largest model, and no more for a prompt pass.
constexpr size_t kDecodedFloats = size_t{1} << 20;

// decoded: keys of these rows, [rows, attention_scratch, head_dim], or null.
void attend_rows(const AttentionArgs& args, size_t first, size_t rows, const float* decoded,
                 TaskSplitter& split) {
  const size_t keys = attention_scratch(args), heads = static_cast<size_t>(args.heads),
               dim = static_cast<size_t>(args.head_dim);
  split(rows * heads, keys * dim * 2, [&](size_t task, size_t begin, size_t end) {
    float* scratch = split.floats(task, keys);
    for (size_t i = begin; i < end; ++i) {
      attention_head(args, static_cast<int>(first + i / heads), static_cast<int>(i % heads),
                     scratch, decoded == nullptr ? nullptr : decoded + i / heads * keys * dim);
    }
  });
}

}  // namespace

void AttentionRows::run(const AttentionArgs& args, TaskSplitter& split) {
  const auto rows = static_cast<size_t>(args.rows);
  if (attention_reads_floats(args)) return attend_rows(args, 0, rows, nullptr, split);
  const size_t keys = attention_scratch(args), dim = static_cast<size_t>(args.head_dim);
  const size_t band = std::clamp<size_t>(kDecodedFloats / (keys * dim), 1, rows);
  if (decoded_.size() < band * keys * dim) decoded_.resize(band * keys * dim);
  for (size_t first = 0; first < rows; first += band) {
    const size_t count = std::min(band, rows - first);
    split(count * keys, dim * 2, [&](size_t, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const int row = static_cast<int>(first + i / keys), key = static_cast<int>(i % keys);
        if (key >= attention_keys(args, row)) continue;
        attention_key(args, row, key, decoded_.data() + i * dim);
      }
    });
    attend_rows(args, first, count, decoded_.data(), split);
  }
}

}  // namespace rota
