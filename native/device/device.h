// What the model asks of a compute device, operation by operation. Knows shapes and formulas (V4.1
// reference, section numbers beside each); knows no layer, no tensor name and no tier.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "device/dev_ptr.h"
#include "device/key_rows.h"
#include "formats/block.h"

namespace rota {

// How the bytes of a matrix lie: kBlocks as in a file; the others are a device's own (lay_out).
enum class MatrixLayout : uint8_t { kBlocks, kGrouped };

// A weight matrix [out, in], rows of row_bytes(format, in) bytes in any layout.
struct Matrix {
  Format format = Format::kF32;
  int out = 0;
  int in = 0;
  DevPtr<const uint8_t> data;
  size_t bytes = 0;
  MatrixLayout layout = MatrixLayout::kBlocks;
};

// The largest shapes of a model's operations, from which a device sizes its working memory.
struct ScratchSizes {
  int heads = 0, head_dim = 0;
  int keys = 0;  // of one row of an attention
  int index_heads = 0, index_head_dim = 0;
  int groups = 0;                       // score_stride: of one row of a selection
  int blocks = 0;                       // of one row of a candidate pool
  int stream_rows = 0, stream_dim = 0;  // of a sublayer's entry
  int experts = 0;
};

// Of a group that compress() makes: ratio is at most that.
inline constexpr int kMostTokensAGroup = 8;

enum class FakeQuant { kFp8Block32, kFp4E8m0Block32, kFp4E4m3Block16 };

struct HcParams {
  int mult = 4;
  int sinkhorn_iters = 20;
  float rms_eps = 0, hc_eps = 0;
};

// Of one sublayer: the stream h [rows, mult, dim] and the coefficients that it is read and written
// with, pre and post [rows, mult], comb [rows, mult, mult].
struct HcStream {
  HcParams params;
  int dim = 0;
  DevPtr<float> h, pre, post, comb;
};
// What the coefficients are made of.
struct HcMix {
  const Matrix* fn = nullptr;       // [(2 + mult) * mult, mult * dim]
  DevPtr<const float> base, scale;  // [(2 + mult) * mult], [3]
  DevPtr<float> mix;                // [rows, (2 + mult) * mult], scratch
};

// Of the trailing 2 * pairs channels of a head: freq[pairs].
struct Rotation {
  DevPtr<const float> freq;
  int pairs = 0;
};

// Rows are consecutive positions first_position .. Keys of row r, in this order of summation:
// the window's positions [max(0, end - window), end) ascending, end = first_position + (causal ? r
// + 1 : 0); then block_rows keys of `block`; then listed[r, 0 .. list_count[r]) of `listed_keys`. K
// and V are the same vector.
struct AttentionArgs {
  int rows = 0, heads = 0, head_dim = 0;
  int first_position = 0, window = 0;
  bool causal = true;
  float scale = 1;
  DevPtr<const float> q;      // [rows, heads, head_dim]
  DevPtr<const float> sinks;  // [heads], unscaled, no value
  KeyRows ring;               // [ring_slots, head_dim], position p in slot p % ring_slots
  int ring_slots = 0;
  DevPtr<const float> block;  // [block_rows, head_dim]
  int block_rows = 0;
  KeyRows listed_keys;           // [any, head_dim]
  DevPtr<const int> list;        // [rows, list_stride]
  DevPtr<const int> list_count;  // [rows]
  int list_stride = 0;
  DevPtr<float> out;  // [rows, heads, head_dim]
};

// Index scores and selection of rows first_position .. against `keys`; row r sees groups [0,
// (first_position + r + 1) / ratio).
struct IndexArgs {
  int rows = 0, heads = 0, head_dim = 0;
  int first_position = 0, ratio = 1;
  DevPtr<const float> q;        // [rows, heads, head_dim]
  DevPtr<const float> weights;  // [rows, heads], already scaled
  KeyRows keys;                 // [groups, head_dim]
  DevPtr<float> scores;         // [rows, score_stride]
  int score_stride = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const char* name() const = 0;
  // Whether its addresses are the host's own.
  virtual bool in_host_memory() const = 0;
  // kIo: the first failure of anything asked so far that has no Status of its own. It stays: what
  // was computed since is worth nothing. Known for certain after a download.
  virtual Status status() const = 0;

  // Zeroed, 64-byte aligned. kOutOfMemory names the bytes and `what`.
  virtual Result<void*> allocate(size_t bytes, const char* what) = 0;
  virtual void release(void* address) = 0;
  // The host's bytes may be changed as soon as it returns.
  virtual void upload(void* device, const void* host, size_t bytes) = 0;
  // From one place on the device to another.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  // The only way back to the host: what was asked before begin_download() is in host[bytes] after
  // the next finish_downloads(), which waits for nothing that was asked later.
  virtual void begin_download(void* host, const void* device, size_t bytes) = 0;
  virtual void finish_downloads() = 0;
  // Waits for what was asked before.
  void download(void* host, const void* device, size_t bytes) {
    begin_download(host, device, bytes);
    finish_downloads();
  }

  // A pass of so many rows begins: much of what is asked until the next begin_pass() was asked in
  // the last pass of as many.
  virtual void begin_pass(int) {}

  // Working memory of the operations, taken before the first pass: afterwards none of them asks for
  // memory. kOutOfMemory names the bytes; kLoad, a shape that the device does not compute.
  virtual Status reserve_scratch(const ScratchSizes& sizes) = 0;

  // Puts an uploaded matrix into the order that linear() here reads best, in place; many stay as
  // they are. Once, before its first use.
  virtual void lay_out(Matrix& w) = 0;

  // y[rows, out] = x[rows, in] W^T. Row-invariant.
  virtual void linear(const Matrix& w, DevPtr<const float> x, int rows, DevPtr<float> y) = 0;
  // 2.7: group g of y [rows, groups, out/groups] = rows g*out/groups.. of W times group g of x
  // [rows, groups, in].
  virtual void grouped_linear(const Matrix& w, int groups, DevPtr<const float> x, int rows,
                              DevPtr<float> y) = 0;
  // y[i, in] = row ids[i] of table, decoded. ids on the host.
  virtual void gather(const Matrix& table, const int* ids, int n, DevPtr<float> y) = 0;
  // The same with ids on the device.
  virtual void gather_listed(const Matrix& table, DevPtr<const int> ids, int n,
                             DevPtr<float> y) = 0;
  // ids[r] = the index of the largest of x[r, n], the lowest of equals; NaN is less than all.
  virtual void largest(DevPtr<const float> x, int rows, int n, DevPtr<int> ids) = 0;

  // y = w * x / sqrt(mean(x^2) + eps); y may be x.
  virtual void rms(DevPtr<const float> x, DevPtr<const float> w, int rows, int n, float eps,
                   DevPtr<float> y) = 0;
  // 2.3: rotates adjacent pairs of the trailing 2*pairs channels of x[rows, heads, dim], in place;
  // row r stands at first_position + r * step; angle = fp32(position * freq[i]), negated when
  // inverse.
  virtual void rope(DevPtr<float> x, int rows, int heads, int dim, DevPtr<const float> freq,
                    int pairs, int first_position, int step, bool inverse) = 0;
  // 2.8: rounds x[count] in place; count a multiple of the block.
  virtual void fake_quant(FakeQuant kind, DevPtr<float> x, size_t count) = 0;

  // 2.2: from mix = fn . flatten(h), [rows, (2 + mult) * mult]: pre, post [rows, mult], comb [rows,
  // mult, mult] (input copy first).
  virtual void hc_coefficients(const HcParams& params, DevPtr<const float> h, int dim,
                               DevPtr<const float> mix, DevPtr<const float> base,
                               DevPtr<const float> scale, int rows, DevPtr<float> pre,
                               DevPtr<float> post, DevPtr<float> comb) = 0;
  // x[rows, dim] = sum_j m[row, j] h[row, j, dim]
  virtual void hc_collapse(DevPtr<const float> h, DevPtr<const float> m, int rows, int mult,
                           int dim, DevPtr<float> x) = 0;
  // h[row, k] := post[row, k] * y[row] + sum_j comb[row, j, k] h[row, j]
  virtual void hc_expand(DevPtr<float> h, DevPtr<const float> y, DevPtr<const float> post,
                         DevPtr<const float> comb, int rows, int mult, int dim) = 0;
  // out[row * out_stride + d] = mean_j h[row, j, d]
  virtual void hc_mean(DevPtr<const float> h, int rows, int mult, int dim, DevPtr<float> out,
                       int out_stride) = 0;
  // h[row, j] = x[row] for every j
  virtual void hc_copy(DevPtr<const float> x, int rows, int mult, int dim, DevPtr<float> h) = 0;

  // ring[(first_position + r) % slots] = x[r]
  virtual void ring_write(DevPtr<const float> x, int rows, int dim, int first_position,
                          DevPtr<float> ring, int slots) = 0;
  // The same into cached keys: keys[(first + r) % slots] = x[r, keys.dim] in the keys' format.
  virtual void store_keys(DevPtr<const float> x, int rows, int first, const KeyRows& keys,
                          int slots) = 0;
  // 2.4: groups first_group .. of `ratio` tokens each from rings of kv and gate: softmax over the
  // tokens per channel.
  virtual void compress(DevPtr<const float> kv_ring, DevPtr<const float> gate_ring, int slots,
                        int ratio, int first_group, int groups, int dim, DevPtr<float> out) = 0;
  virtual void attention(const AttentionArgs& args) = 0;

  // 2.5: scores[r, j] = sum_h weights[r, h] * max(0, q[r, h] . keys[j]) for the row's visible
  // groups.
  virtual void index_scores(const IndexArgs& args) = 0;
  // keep[r, b] = 1 for the `blocks` best blocks of `block_size` groups by (maximum score, lowest
  // index); the newest visible block always; 0 for the others up to the row's last block.
  virtual void candidate_pool(const IndexArgs& args, int block_size, int blocks,
                              DevPtr<uint8_t> keep, int keep_stride) = 0;
  // The top_k best visible groups by (score, lowest index), ascending: list[r, 0 .. list_count[r]).
  // With keep, only its blocks.
  virtual void select_groups(const IndexArgs& args, DevPtr<const uint8_t> keep, int keep_stride,
                             int block_size, int top_k, DevPtr<int> list, int list_stride,
                             DevPtr<int> list_count) = 0;

  // 2.9: e = key | value [rows, (mult + 1) * dim]; h[row, c] += gate_c * value.
  virtual void engram_gate(DevPtr<float> h, DevPtr<const float> kv, DevPtr<const float> q_weight,
                           DevPtr<const float> k_weight, int rows, int mult, int dim,
                           float eps) = 0;
  // 2.10: s = sqrt(softplus(logits)); ids[rows, top_k] = the best of s + bias + selection_bias (may
  // be null), lowest index first on ties, best first; weights = s / (sum of the chosen s + 1e-20) *
  // route_scale.
  virtual void route(DevPtr<const float> logits, DevPtr<const float> bias,
                     DevPtr<const float> selection_bias, int rows, int experts, int top_k,
                     float route_scale, DevPtr<int> ids, DevPtr<float> weights) = 0;
  // out[r, n] = silu(min(gate, limit)) * clamp(up, -limit, limit); out may be gate.
  virtual void swiglu(DevPtr<const float> gate, DevPtr<const float> up, size_t count, float limit,
                      DevPtr<float> out) = 0;
  // x *= factor
  virtual void scale(DevPtr<float> x, size_t count, float factor) = 0;
  // y += x
  virtual void add(DevPtr<const float> x, size_t count, DevPtr<float> y) = 0;

  // Steps of a layer: by default the operations above that each names, in that order. A device may
  // do one at once, and sum in another order then.
  // linear of both, over the same x.
  virtual void linear_pair(const Matrix& first, const Matrix& second, DevPtr<const float> x,
                           int rows, DevPtr<float> y_first, DevPtr<float> y_second);
  // linear of the stream by fn, hc_coefficients; x = rms of hc_collapse(h, collapse).
  virtual void hc_enter(const HcStream& stream, const HcMix& mix, DevPtr<const float> collapse,
                        DevPtr<const float> norm, int rows, DevPtr<float> x);
  // hc_expand with y += addend, unless that is null; y may be left with or without it.
  virtual void hc_leave(const HcStream& stream, DevPtr<float> y, DevPtr<const float> addend,
                        int rows);
  // rms of x[rows, dim] in place; rope of its one head, not inverse.
  virtual void rms_rope(DevPtr<float> x, DevPtr<const float> w, int rows, int dim, float eps,
                        const Rotation& rotation, int first_position, int step);
  // rope of args.q, which is `q`; attention; rope of args.out, inverse.
  virtual void rotated_attention(const AttentionArgs& args, DevPtr<float> q,
                                 const Rotation& rotation);
};

}  // namespace rota
