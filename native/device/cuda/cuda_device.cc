// Every operation of the interface, handed to its kernels on the device's one stream.
#include "device/cuda/cuda_device.h"

#include "base/check.h"
#include "device/cuda/attention.cuh"
#include "device/cuda/cuda_device.cuh"
#include "device/cuda/cuda_stream.cuh"
#include "device/cuda/hc_enter.cuh"
#include "device/cuda/hyper_connection.cuh"
#include "device/cuda/key_codes.cuh"
#include "device/cuda/linear.cuh"
#include "device/cuda/matrix_layout.cuh"
#include "device/cuda/router.cuh"
#include "device/cuda/row_ops.cuh"
#include "device/cuda/scratch.cuh"
#include "device/cuda/selection.cuh"
#include "device/cuda/transfers.cuh"

namespace rota {
namespace {

// Rows of a pass of decoding or verification at most: starting a longer one costs little beside it.
constexpr int kMostReplayed = 16;

Status beyond(const char* what, int64_t value, int64_t most) {
  return {Code::kLoad, std::string("the CUDA device computes ") + what + " of at most " +
                           std::to_string(most) + ", not " + std::to_string(value) +
                           "; use --device host"};
}

class CudaDevice final : public Device {
 public:
  CudaDevice(std::unique_ptr<CudaStream> stream, std::unique_ptr<Transfers> transfers)
      : name_("cuda:" + std::to_string(stream->index()) + " " + stream->device_name()),
        stream_(std::move(stream)),
        transfers_(std::move(transfers)) {}
  ~CudaDevice() override {
    stream_->release(attention_scratch_.memory);
    stream_->release(stream_scratch_.memory);
  }

  CudaStream& stream() { return *stream_; }
  const char* name() const override { return name_.c_str(); }
  bool in_host_memory() const override { return false; }
  Status status() const override { return stream_->status(); }

  Result<void*> allocate(size_t bytes, const char* what) override {
    return stream_->allocate(bytes, what);
  }
  void release(void* address) override { stream_->release(address); }
  void upload(void* device, const void* host, size_t bytes) override {
    transfers_->upload(device, host, bytes);
  }
  void copy(void* to, const void* from, size_t bytes) override {
    launch_copy(stream_->queue(), from, bytes, to);
    stream_->note_launch("copy");
  }
  void begin_download(void* host, const void* device, size_t bytes) override {
    transfers_->begin_download(host, device, bytes);
  }
  void finish_downloads() override { transfers_->finish_downloads(); }

  void begin_pass(int rows) override { stream_->begin_pass(rows <= kMostReplayed ? rows : 0); }

  Status reserve_scratch(const ScratchSizes& sizes) override {
    if (sizes.head_dim > kMostHeadDim) return beyond("heads", sizes.head_dim, kMostHeadDim);
    if (sizes.experts > kMostExperts) return beyond("experts", sizes.experts, kMostExperts);
    const size_t shared = index_scores_shared_bytes(sizes.index_heads, sizes.index_head_dim);
    if (shared > kMostSharedBytes) {
      return beyond("index queries, in bytes,", static_cast<int64_t>(shared),
                    static_cast<int64_t>(kMostSharedBytes));
    }
    ROTA_RETURN_IF_ERROR(attention_scratch_.reach(
        *stream_, "attention scratch",
        attention_scratch_floats(sizes.heads, sizes.head_dim, sizes.keys)));
    return stream_scratch_.reach(*stream_, "stream scratch",
                                 hc_enter_scratch_floats(sizes.stream_rows, sizes.stream_dim));
  }

  void lay_out(Matrix& w) override {
    if (!can_group(w)) return;
    launch_group(stream_->use(), w);
    stream_->note_launch("lay_out");
    w.layout = MatrixLayout::kGrouped;
  }

  void linear(const Matrix& w, DevPtr<const float> x, int rows, DevPtr<float> y) override {
    launch_linear(stream_->queue(), w, 1, x.address(), rows, y.address());
    stream_->note_launch("linear");
  }
  void grouped_linear(const Matrix& w, int groups, DevPtr<const float> x, int rows,
                      DevPtr<float> y) override {
    launch_linear(stream_->queue(), w, groups, x.address(), rows, y.address());
    stream_->note_launch("grouped_linear");
  }
  void gather(const Matrix& table, const int* ids, int n, DevPtr<float> y) override {
    launch_gather(stream_->queue(), table, ids, n, y.address());
    stream_->note_launch("gather");
  }

  void gather_listed(const Matrix& table, DevPtr<const int> ids, int n, DevPtr<float> y) override {
    launch_gather_listed(stream_->queue(), table, ids.address(), n, y.address());
    stream_->note_launch("gather_listed");
  }
  void largest(DevPtr<const float> x, int rows, int n, DevPtr<int> ids) override {
    launch_largest(stream_->queue(), x.address(), rows, n, ids.address());
    stream_->note_launch("largest");
  }

  void rms(DevPtr<const float> x, DevPtr<const float> w, int rows, int n, float eps,
           DevPtr<float> y) override {
    launch_rms(stream_->queue(), x.address(), w.address(), rows, n, eps, y.address());
    stream_->note_launch("rms");
  }
  void rope(DevPtr<float> x, int rows, int heads, int dim, DevPtr<const float> freq, int pairs,
            int first_position, int step, bool inverse) override {
    launch_rope(stream_->queue(), x.address(), rows, heads, dim, freq.address(), pairs,
                first_position, step, inverse);
    stream_->note_launch("rope");
  }
  void fake_quant(FakeQuant kind, DevPtr<float> x, size_t count) override {
    launch_fake_quant(stream_->queue(), kind, x.address(), count);
    stream_->note_launch("fake_quant");
  }

  void hc_coefficients(const HcParams& params, DevPtr<const float> h, int dim,
                       DevPtr<const float> mix, DevPtr<const float> base, DevPtr<const float> scale,
                       int rows, DevPtr<float> pre, DevPtr<float> post,
                       DevPtr<float> comb) override {
    ROTA_CHECK(params.mult <= kMostHcCopies, "copies", params.mult);
    launch_hc_coefficients(stream_->queue(), params, h.address(), dim, mix.address(),
                           base.address(), scale.address(), rows, pre.address(), post.address(),
                           comb.address());
    stream_->note_launch("hc_coefficients");
  }
  void hc_collapse(DevPtr<const float> h, DevPtr<const float> m, int rows, int mult, int dim,
                   DevPtr<float> x) override {
    launch_hc_collapse(stream_->queue(), h.address(), m.address(), rows, mult, dim, x.address());
    stream_->note_launch("hc_collapse");
  }
  void hc_expand(DevPtr<float> h, DevPtr<const float> y, DevPtr<const float> post,
                 DevPtr<const float> comb, int rows, int mult, int dim) override {
    ROTA_CHECK(mult <= kMostHcCopies, "copies", mult);
    launch_hc_expand(stream_->queue(), h.address(), y.address(), nullptr, post.address(),
                     comb.address(), rows, mult, dim);
    stream_->note_launch("hc_expand");
  }
  void hc_mean(DevPtr<const float> h, int rows, int mult, int dim, DevPtr<float> out,
               int out_stride) override {
    launch_hc_mean(stream_->queue(), h.address(), rows, mult, dim, out.address(), out_stride);
    stream_->note_launch("hc_mean");
  }
  void hc_copy(DevPtr<const float> x, int rows, int mult, int dim, DevPtr<float> h) override {
    launch_hc_copy(stream_->queue(), x.address(), rows, mult, dim, h.address());
    stream_->note_launch("hc_copy");
  }

  void ring_write(DevPtr<const float> x, int rows, int dim, int first_position, DevPtr<float> ring,
                  int slots) override {
    launch_ring_write(stream_->queue(), x.address(), rows, dim, first_position, ring.address(),
                      slots);
    stream_->note_launch("ring_write");
  }
  void store_keys(DevPtr<const float> x, int rows, int first, const KeyRows& keys,
                  int slots) override {
    launch_store_keys(stream_->queue(), x.address(), rows, first, keys, slots);
    stream_->note_launch("store_keys");
  }
  void compress(DevPtr<const float> kv_ring, DevPtr<const float> gate_ring, int slots, int ratio,
                int first_group, int groups, int dim, DevPtr<float> out) override {
    launch_compress(stream_->queue(), kv_ring.address(), gate_ring.address(), slots, ratio,
                    first_group, groups, dim, out.address());
    stream_->note_launch("compress");
  }
  void attention(const AttentionArgs& args) override { attend(args, {}); }
  void rotated_attention(const AttentionArgs& args, DevPtr<float>,
                         const Rotation& rotation) override {
    attend(args, rotation);
  }

  void index_scores(const IndexArgs& args) override {
    launch_index_scores(stream_->queue(), args);
    stream_->note_launch("index_scores");
  }
  void candidate_pool(const IndexArgs& args, int block_size, int blocks, DevPtr<uint8_t> keep,
                      int keep_stride) override {
    launch_candidate_pool(stream_->queue(), args, block_size, blocks, keep.address(), keep_stride);
    stream_->note_launch("candidate_pool");
  }
  void select_groups(const IndexArgs& args, DevPtr<const uint8_t> keep, int keep_stride,
                     int block_size, int top_k, DevPtr<int> list, int list_stride,
                     DevPtr<int> list_count) override {
    launch_select_groups(stream_->queue(), args, keep.address(), keep_stride, block_size, top_k,
                         list.address(), list_stride, list_count.address());
    stream_->note_launch("select_groups");
  }

  void engram_gate(DevPtr<float> h, DevPtr<const float> kv, DevPtr<const float> q_weight,
                   DevPtr<const float> k_weight, int rows, int mult, int dim, float eps) override {
    launch_engram_gate(stream_->queue(), h.address(), kv.address(), q_weight.address(),
                       k_weight.address(), rows, mult, dim, eps);
    stream_->note_launch("engram_gate");
  }
  void route(DevPtr<const float> logits, DevPtr<const float> bias,
             DevPtr<const float> selection_bias, int rows, int experts, int top_k,
             float route_scale, DevPtr<int> ids, DevPtr<float> weights) override {
    ROTA_CHECK(experts <= kMostExperts && top_k <= experts, "experts", experts, "of them", top_k);
    launch_route(stream_->queue(), logits.address(), bias.address(), selection_bias.address(), rows,
                 experts, top_k, route_scale, ids.address(), weights.address());
    stream_->note_launch("route");
  }
  void swiglu(DevPtr<const float> gate, DevPtr<const float> up, size_t count, float limit,
              DevPtr<float> out) override {
    launch_swiglu(stream_->queue(), gate.address(), up.address(), count, limit, out.address());
    stream_->note_launch("swiglu");
  }
  void scale(DevPtr<float> x, size_t count, float factor) override {
    launch_scale(stream_->queue(), x.address(), count, factor);
    stream_->note_launch("scale");
  }
  void add(DevPtr<const float> x, size_t count, DevPtr<float> y) override {
    launch_add(stream_->queue(), x.address(), count, y.address());
    stream_->note_launch("add");
  }

  void linear_pair(const Matrix& first, const Matrix& second, DevPtr<const float> x, int rows,
                   DevPtr<float> y_first, DevPtr<float> y_second) override {
    launch_linear_pair(stream_->queue(), first, second, x.address(), rows, y_first.address(),
                       y_second.address());
    stream_->note_launch("linear_pair");
  }
  void hc_enter(const HcStream& s, const HcMix& mix, DevPtr<const float> collapse,
                DevPtr<const float> norm, int rows, DevPtr<float> x) override {
    if (!fits_hc_enter(s, mix)) return Device::hc_enter(s, mix, collapse, norm, rows, x);
    ROTA_CHECK(hc_enter_scratch_floats(rows, s.dim) <= stream_scratch_.floats, "rows", rows, "of",
               s.dim);
    launch_hc_enter(stream_->queue(), s, mix, collapse.address(), norm.address(), rows, x.address(),
                    stream_scratch_.memory);
    stream_->note_launch("hc_enter");
  }
  void hc_leave(const HcStream& s, DevPtr<float> y, DevPtr<const float> addend, int rows) override {
    ROTA_CHECK(s.params.mult <= kMostHcCopies, "copies", s.params.mult);
    launch_hc_expand(stream_->queue(), s.h.address(), y.address(), addend.address(),
                     s.post.address(), s.comb.address(), rows, s.params.mult, s.dim);
    stream_->note_launch("hc_leave");
  }
  void rms_rope(DevPtr<float> x, DevPtr<const float> w, int rows, int dim, float eps,
                const Rotation& rotation, int first_position, int step) override {
    ROTA_CHECK(dim % 2 == 0, "channels", dim);
    launch_rms_rope(stream_->queue(), x.address(), w.address(), rows, dim, eps,
                    rotation.freq.address(), rotation.pairs, first_position, step);
    stream_->note_launch("rms_rope");
  }

 private:
  void attend(const AttentionArgs& args, const Rotation& rotation) {
    const int keys = args.window + args.block_rows + (args.list ? args.list_stride : 0);
    ROTA_CHECK(
        attention_scratch_floats(args.heads, args.head_dim, keys) <= attention_scratch_.floats,
        "scratch for keys", keys, "heads", args.heads);
    launch_attention(stream_->queue(), args, rotation, attention_scratch_.memory);
    stream_->note_launch("attention");
  }

  std::string name_;
  std::unique_ptr<CudaStream> stream_;
  std::unique_ptr<Transfers> transfers_;
  Scratch attention_scratch_, stream_scratch_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_cuda_device(int index) {
  ROTA_ASSIGN_OR_RETURN(std::unique_ptr<CudaStream> stream, CudaStream::open(index));
  CUDA_CHECK(*stream, allow_index_scores());
  if (!stream->status().ok()) return stream->status();
  ROTA_ASSIGN_OR_RETURN(std::unique_ptr<Transfers> transfers, Transfers::open(*stream));
  return std::unique_ptr<Device>(
      std::make_unique<CudaDevice>(std::move(stream), std::move(transfers)));
}

CudaStream& stream_of(Device& device) { return static_cast<CudaDevice&>(device).stream(); }

uint64_t cuda_free_bytes(Device& device) {
  size_t free_bytes = 0, total = 0;
  CudaStream& stream = stream_of(device);
  stream.make_current();
  CUDA_CHECK(stream, cudaMemGetInfo(&free_bytes, &total));
  return free_bytes;
}

}  // namespace rota
