// Attention of one query head: scores, one softmax over all keys, weighted sum.
#include "device/host/attention_core.h"

#include <algorithm>
#include <cmath>

#include "device/host/vector_ops.h"

namespace rota {
namespace {

// Calls visit(key, index) for every key of a row in the order of summation; returns how many there
// were.
template <typename Visit>
int for_each_key(const AttentionArgs& args, int row, const float* decoded, Visit&& visit) {
  const size_t dim = static_cast<size_t>(args.head_dim);
  if (decoded != nullptr) {
    const int keys = attention_keys(args, row);
    for (int i = 0; i < keys; ++i) visit(decoded + static_cast<size_t>(i) * dim, i);
    return keys;
  }
  const int end = args.first_position + (args.causal ? row + 1 : 0);
  int index = 0;
  for (int p = std::max(0, end - args.window); p < end; ++p, ++index) {
    visit(args.ring.floats(static_cast<size_t>(p % args.ring_slots)), index);
  }
  for (int b = 0; b < args.block_rows; ++b, ++index)
    visit(args.block.address() + static_cast<size_t>(b) * dim, index);
  if (args.list) {
    const int* list =
        args.list.address() + static_cast<size_t>(row) * static_cast<size_t>(args.list_stride);
    const int count = args.list_count.address()[row];
    for (int i = 0; i < count; ++i, ++index)
      visit(args.listed_keys.floats(static_cast<size_t>(list[i])), index);
  }
  return index;
}

}  // namespace

size_t attention_scratch(const AttentionArgs& args) {
  return static_cast<size_t>(args.window + args.block_rows + args.list_stride);
}

bool attention_reads_floats(const AttentionArgs& args) {
  return args.ring.format == KeyFormat::kF32 &&
         (!args.list || args.listed_keys.format == KeyFormat::kF32);
}

int attention_keys(const AttentionArgs& args, int row) {
  const int end = args.first_position + (args.causal ? row + 1 : 0);
  return std::min(end, args.window) + args.block_rows +
         (args.list ? args.list_count.address()[row] : 0);
}

void attention_key(const AttentionArgs& args, int row, int index, float* key) {
  const size_t dim = static_cast<size_t>(args.head_dim);
  const int end = args.first_position + (args.causal ? row + 1 : 0);
  const int in_window = std::min(end, args.window);
  if (index < in_window) {
    const auto slot = static_cast<size_t>((end - in_window + index) % args.ring_slots);
    return decode_key_row(args.ring.format, args.ring.row(slot), dim, key);
  }
  index -= in_window;
  if (index < args.block_rows) {
    std::copy_n(args.block.address() + static_cast<size_t>(index) * dim, dim, key);
    return;
  }
  const int* list =
      args.list.address() + static_cast<size_t>(row) * static_cast<size_t>(args.list_stride);
  const auto group = static_cast<size_t>(list[index - args.block_rows]);
  decode_key_row(args.listed_keys.format, args.listed_keys.row(group), dim, key);
}

void attention_head(const AttentionArgs& args, int row, int head, float* scratch,
                    const float* decoded) {
  const VectorOps& ops = vector_ops();
  const size_t dim = static_cast<size_t>(args.head_dim);
  const size_t at =
      (static_cast<size_t>(row) * static_cast<size_t>(args.heads) + static_cast<size_t>(head)) *
      dim;
  const float* q = args.q.address() + at;
  float* out = args.out.address() + at;
  float largest = -1e30f;
  const int keys = for_each_key(args, row, decoded, [&](const float* key, int i) {
    scratch[i] = ops.dot(q, key, dim) * args.scale;
    largest = std::max(largest, scratch[i]);
  });
  std::fill_n(out, dim, 0.0f);
  if (keys == 0) return;
  float total = 0;
  for_each_key(args, row, decoded, [&](const float* key, int i) {
    const float e = std::exp(scratch[i] - largest);
    total += e;
    ops.axpy(e, key, out, dim);
  });
  const float denominator = total + std::exp(args.sinks.address()[head] - largest);
  for (size_t d = 0; d < dim; ++d) out[d] /= denominator;
}

}  // namespace rota
