// The CPU as a Device: memory, and every operation cut over rows, heads or outputs.
#include "device/host/host_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/check.h"
#include "device/host/attention_rows.h"
#include "device/host/hyper_connection.h"
#include "device/host/matvec.h"
#include "device/host/row_ops.h"
#include "device/host/selection.h"
#include "device/host/task_splitter.h"
#include "formats/numbers.h"

namespace rota {
namespace {

size_t at(int row, int stride) { return static_cast<size_t>(row) * static_cast<size_t>(stride); }

class HostDevice final : public Device {
 public:
  explicit HostDevice(ThreadPool* pool) : split_(pool) {}

  const char* name() const override { return "host"; }
  bool in_host_memory() const override { return true; }
  Status status() const override { return {}; }

  Result<void*> allocate(size_t bytes, const char* what) override {
    void* memory = nullptr;
    const size_t rounded = (std::max<size_t>(bytes, 1) + 63) / 64 * 64;
    if (posix_memalign(&memory, 64, rounded) != 0) {
      return Status(Code::kOutOfMemory, std::string(what) + ": cannot allocate " +
                                            std::to_string(bytes) + " bytes of memory");
    }
    std::memset(memory, 0, rounded);
    return memory;
  }
  void release(void* address) override { std::free(address); }
  void lay_out(Matrix&) override {}
  void upload(void* device, const void* host, size_t bytes) override {
    std::memcpy(device, host, bytes);
  }
  void copy(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void begin_download(void* to, const void* from, size_t n) override { copy(to, from, n); }
  void finish_downloads() override {}

  Status reserve_scratch(const ScratchSizes& sizes) override {
    const auto floats = static_cast<size_t>(
        std::max({sizes.keys, sizes.blocks, sizes.experts, sizes.head_dim, sizes.index_head_dim}));
    return split_.reserve(floats, static_cast<size_t>(sizes.groups));
  }

  void linear(const Matrix& w, DevPtr<const float> x, int rows, DevPtr<float> y) override {
    const size_t in = static_cast<size_t>(w.in), out = static_cast<size_t>(w.out);
    split_(out, in * static_cast<size_t>(rows), [&](size_t, size_t begin, size_t end) {
      matvec_rows(w.format, w.data.address(), begin, end, in, x.address(), in, rows, y.address(),
                  out);
    });
  }

  void grouped_linear(const Matrix& w, int groups, DevPtr<const float> x, int rows,
                      DevPtr<float> y) override {
    const size_t in = static_cast<size_t>(w.in), out = static_cast<size_t>(w.out);
    const size_t per_group = out / static_cast<size_t>(groups),
                 x_stride = in * static_cast<size_t>(groups);
    split_(out, in * static_cast<size_t>(rows), [&](size_t, size_t begin, size_t end) {
      for (size_t group = begin / per_group; group * per_group < end; ++group) {
        const size_t first = std::max(begin, group * per_group),
                     last = std::min(end, (group + 1) * per_group);
        matvec_rows(w.format, w.data.address(), first, last, in, x.address() + group * in, x_stride,
                    rows, y.address(), out);
      }
    });
  }

  void gather(const Matrix& table, const int* ids, int n, DevPtr<float> y) override {
    const size_t bytes = table.bytes / static_cast<size_t>(table.out);
    for (int i = 0; i < n; ++i) {
      const uint8_t* row = table.data.address() + static_cast<size_t>(ids[i]) * bytes;
      decode_row(table.format, row, y.address() + at(i, table.in), static_cast<size_t>(table.in));
    }
  }

  void gather_listed(const Matrix& table, DevPtr<const int> ids, int n, DevPtr<float> y) override {
    gather(table, ids.address(), n, y);
  }
  void largest(DevPtr<const float> x, int rows, int n, DevPtr<int> ids) override {
    each_row(rows, n, [&](int r) { ids.address()[r] = largest_of_row(x.address() + at(r, n), n); });
  }

  void rms(DevPtr<const float> x, DevPtr<const float> w, int rows, int n, float eps,
           DevPtr<float> y) override {
    each_row(rows, n, [&](int r) {
      rms_row(x.address() + at(r, n), w.address(), n, eps, y.address() + at(r, n));
    });
  }

  void rope(DevPtr<float> x, int rows, int heads, int dim, DevPtr<const float> freq, int pairs,
            int first_position, int step, bool inverse) override {
    each_row(rows, heads * pairs * 4, [&](int r) {
      rope_row(x.address() + at(r, heads * dim), heads, dim, freq.address(), pairs,
               first_position + r * step, inverse);
    });
  }

  void fake_quant(FakeQuant kind, DevPtr<float> x, size_t count) override {
    constexpr size_t kBlock = 32;  // a multiple of every rounding's block
    split_(count / kBlock, kBlock * 16, [&](size_t, size_t begin, size_t end) {
      // The last task takes what is left of a count that is a multiple of 16 only.
      const size_t stop = end == count / kBlock ? count : end * kBlock;
      round(kind, x.address() + begin * kBlock, stop - begin * kBlock);
    });
  }

  void hc_coefficients(const HcParams& params, DevPtr<const float> h, int dim,
                       DevPtr<const float> mix, DevPtr<const float> base, DevPtr<const float> scale,
                       int rows, DevPtr<float> pre, DevPtr<float> post,
                       DevPtr<float> comb) override {
    const int n = params.mult;
    each_row(rows, n * dim, [&](int r) {
      hc_coefficients_row(params, h.address() + at(r, n * dim), dim,
                          mix.address() + at(r, n * (n + 2)), base.address(), scale.address(),
                          pre.address() + at(r, n), post.address() + at(r, n),
                          comb.address() + at(r, n * n));
    });
  }
  void hc_collapse(DevPtr<const float> h, DevPtr<const float> m, int rows, int mult, int dim,
                   DevPtr<float> x) override {
    each_row(rows, mult * dim, [&](int r) {
      hc_collapse_row(h.address() + at(r, mult * dim), m.address() + at(r, mult), mult, dim,
                      x.address() + at(r, dim));
    });
  }
  void hc_expand(DevPtr<float> h, DevPtr<const float> y, DevPtr<const float> post,
                 DevPtr<const float> comb, int rows, int mult, int dim) override {
    each_row(rows, mult * mult * dim, [&](int r) {
      hc_expand_row(h.address() + at(r, mult * dim), y.address() + at(r, dim),
                    post.address() + at(r, mult), comb.address() + at(r, mult * mult), mult, dim);
    });
  }
  void hc_mean(DevPtr<const float> h, int rows, int mult, int dim, DevPtr<float> out,
               int out_stride) override {
    each_row(rows, mult * dim, [&](int r) {
      hc_mean_row(h.address() + at(r, mult * dim), mult, dim, out.address() + at(r, out_stride));
    });
  }
  void hc_copy(DevPtr<const float> x, int rows, int mult, int dim, DevPtr<float> h) override {
    for (int i = 0; i < rows * mult; ++i)
      std::copy_n(x.address() + at(i / mult, dim), dim, h.address() + at(i, dim));
  }

  void ring_write(DevPtr<const float> x, int rows, int dim, int first_position, DevPtr<float> ring,
                  int slots) override {
    for (int r = 0; r < rows; ++r) {
      std::copy_n(x.address() + at(r, dim), dim,
                  ring.address() + at((first_position + r) % slots, dim));
    }
  }

  void store_keys(DevPtr<const float> x, int rows, int first, const KeyRows& keys,
                  int slots) override {
    const auto dim = static_cast<size_t>(keys.dim);
    each_row(rows, keys.dim * 8, [&](int r) {
      encode_key_row(keys.format, x.address() + at(r, keys.dim), dim,
                     keys.row(static_cast<size_t>((first + r) % slots)));
    });
  }

  void compress(DevPtr<const float> kv_ring, DevPtr<const float> gate_ring, int slots, int ratio,
                int first_group, int groups, int dim, DevPtr<float> out) override {
    ROTA_CHECK(ratio <= kMostTokensAGroup, "tokens a group", ratio);
    each_row(groups, ratio * dim * 4, [&](int g) {
      compress_from_rings(kv_ring.address(), gate_ring.address(), slots, ratio, first_group + g,
                          dim, out.address() + at(g, dim));
    });
  }

  void attention(const AttentionArgs& args) override { attention_.run(args, split_); }

  void index_scores(const IndexArgs& args) override {
    const size_t width = static_cast<size_t>(visible_groups(args, args.rows - 1));
    if (width == 0) return;
    split_(static_cast<size_t>(args.rows) * width, static_cast<size_t>(args.heads * args.head_dim),
           [&](size_t task, size_t begin, size_t end) {
             float* scratch = split_.floats(task, static_cast<size_t>(args.head_dim));
             for (size_t i = begin; i < end;) {
               const int row = static_cast<int>(i / width);
               const size_t stop = std::min(end, (i / width + 1) * width);
               const int visible = visible_groups(args, row);
               const int first = static_cast<int>(i % width),
                         last = first + static_cast<int>(stop - i);
               if (first < visible)
                 index_scores_row(args, row, first, std::min(visible, last), scratch);
               i = stop;
             }
           });
  }

  void candidate_pool(const IndexArgs& args, int block_size, int blocks, DevPtr<uint8_t> keep,
                      int keep_stride) override {
    split_rows(args, [&](size_t task, int r, int visible) {
      candidate_pool_row(args.scores.address() + at(r, args.score_stride), visible, block_size,
                         blocks, keep.address() + at(r, keep_stride),
                         split_.floats(task, static_cast<size_t>(keep_stride)),
                         split_.ints(task, static_cast<size_t>(args.score_stride)));
    });
  }

  void select_groups(const IndexArgs& args, DevPtr<const uint8_t> keep, int keep_stride,
                     int block_size, int top_k, DevPtr<int> list, int list_stride,
                     DevPtr<int> list_count) override {
    split_rows(args, [&](size_t task, int r, int visible) {
      list_count.address()[r] =
          select_groups_row(args.scores.address() + at(r, args.score_stride), visible,
                            keep ? keep.address() + at(r, keep_stride) : nullptr, block_size, top_k,
                            split_.ints(task, static_cast<size_t>(args.score_stride)),
                            list.address() + at(r, list_stride));
    });
  }

  void engram_gate(DevPtr<float> h, DevPtr<const float> kv, DevPtr<const float> q_weight,
                   DevPtr<const float> k_weight, int rows, int mult, int dim, float eps) override {
    each_row(rows, mult * dim * 4, [&](int r) {
      engram_gate_row(h.address() + at(r, mult * dim), kv.address() + at(r, (mult + 1) * dim),
                      q_weight.address(), k_weight.address(), mult, dim, eps);
    });
  }

  void route(DevPtr<const float> logits, DevPtr<const float> bias,
             DevPtr<const float> selection_bias, int rows, int experts, int top_k,
             float route_scale, DevPtr<int> ids, DevPtr<float> weights) override {
    const size_t cost = static_cast<size_t>(experts) * static_cast<size_t>(top_k + 16);
    split_(static_cast<size_t>(rows), cost, [&](size_t task, size_t begin, size_t end) {
      for (int r = static_cast<int>(begin); r < static_cast<int>(end); ++r) {
        route_row(logits.address() + at(r, experts), bias.address(), selection_bias.address(),
                  experts, top_k, route_scale, split_.floats(task, static_cast<size_t>(experts)),
                  ids.address() + at(r, top_k), weights.address() + at(r, top_k));
      }
    });
  }

  void swiglu(DevPtr<const float> gate, DevPtr<const float> up, size_t count, float limit,
              DevPtr<float> out) override {
    split_(count, 32, [&](size_t, size_t begin, size_t end) {
      expert_swiglu(gate.address() + begin, up.address() + begin, end - begin, limit, 1.0f,
                    out.address() + begin);
    });
  }
  void scale(DevPtr<float> x, size_t count, float factor) override {
    for (size_t i = 0; i < count; ++i) x.address()[i] *= factor;
  }
  void add(DevPtr<const float> x, size_t count, DevPtr<float> y) override {
    split_(count, 2, [&](size_t, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) y.address()[i] += x.address()[i];
    });
  }

 private:
  static void round(FakeQuant kind, float* x, size_t count) {
    switch (kind) {
      case FakeQuant::kFp8Block32:
        return fake_quant_fp8(x, count);
      case FakeQuant::kFp4E8m0Block32:
        return fake_quant_fp4_e8m0(x, count);
      case FakeQuant::kFp4E4m3Block16:
        return fake_quant_fp4_e4m3(x, count);
    }
  }

  template <typename Fn>
  void each_row(int rows, int cost_per_row, Fn&& fn) {
    split_(static_cast<size_t>(rows), static_cast<size_t>(cost_per_row),
           [&](size_t, size_t begin, size_t end) {
             for (size_t r = begin; r < end; ++r) fn(static_cast<int>(r));
           });
  }

  template <typename Fn>
  void split_rows(const IndexArgs& args, Fn&& fn) {
    split_(static_cast<size_t>(args.rows), static_cast<size_t>(args.score_stride) * 4,
           [&](size_t task, size_t begin, size_t end) {
             for (int r = static_cast<int>(begin); r < static_cast<int>(end); ++r)
               fn(task, r, visible_groups(args, r));
           });
  }

  TaskSplitter split_;
  AttentionRows attention_;
};

}  // namespace

std::unique_ptr<Device> make_host_device(ThreadPool* pool) {
  return std::make_unique<HostDevice>(pool);
}

}  // namespace rota
