// Only a Device dereferences its addresses: a device whose addresses the host cannot read gives the
// same logits, bit for bit.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "model/sequence_fixture.h"

namespace rota {
namespace {

// The host's memory under addresses of which no processor has any: reading one ends the test.
class FencedDevice final : public Device {
 public:
  const char* name() const override { return "fenced"; }
  bool in_host_memory() const override { return false; }
  Status status() const override { return {}; }
  Result<void*> allocate(size_t bytes, const char* what) override {
    ROTA_ASSIGN_OR_RETURN(void* memory, host_->allocate(bytes, what));
    return moved(memory, kFence);
  }
  void release(void* address) override { host_->release(at(address)); }
  void upload(void* device, const void* host, size_t bytes) override {
    host_->upload(at(device), host, bytes);
  }
  void copy(void* to, const void* from, size_t bytes) override {
    host_->copy(at(to), at(from), bytes);
  }
  void begin_download(void* host, const void* device, size_t bytes) override {
    const auto* from = static_cast<const uint8_t*>(at(device));
    coming_.push_back({host, {from, from + bytes}});
  }
  // Not before: who reads earlier finds what was there.
  void finish_downloads() override {
    for (const Piece& piece : coming_) {
      std::memcpy(piece.host, piece.bytes.data(), piece.bytes.size());
    }
    coming_.clear();
  }
  Status reserve_scratch(const ScratchSizes& sizes) override {
    return host_->reserve_scratch(sizes);
  }
  void lay_out(Matrix&) override {}
  void linear(const Matrix& w, DevPtr<const float> x, int rows, DevPtr<float> y) override {
    host_->linear(of(w), at(x), rows, at(y));
  }
  void grouped_linear(const Matrix& w, int groups, DevPtr<const float> x, int rows,
                      DevPtr<float> y) override {
    host_->grouped_linear(of(w), groups, at(x), rows, at(y));
  }
  void gather(const Matrix& table, const int* ids, int n, DevPtr<float> y) override {
    host_->gather(of(table), ids, n, at(y));
  }
  void gather_listed(const Matrix& table, DevPtr<const int> ids, int n, DevPtr<float> y) override {
    host_->gather_listed(of(table), at(ids), n, at(y));
  }
  void largest(DevPtr<const float> x, int rows, int n, DevPtr<int> ids) override {
    host_->largest(at(x), rows, n, at(ids));
  }
  void rms(DevPtr<const float> x, DevPtr<const float> w, int rows, int n, float eps,
           DevPtr<float> y) override {
    host_->rms(at(x), at(w), rows, n, eps, at(y));
  }
  void rope(DevPtr<float> x, int rows, int heads, int dim, DevPtr<const float> freq, int pairs,
            int first_position, int step, bool inverse) override {
    host_->rope(at(x), rows, heads, dim, at(freq), pairs, first_position, step, inverse);
  }
  void fake_quant(FakeQuant kind, DevPtr<float> x, size_t count) override {
    host_->fake_quant(kind, at(x), count);
  }
  void hc_coefficients(const HcParams& params, DevPtr<const float> h, int dim,
                       DevPtr<const float> mix, DevPtr<const float> base, DevPtr<const float> scale,
                       int rows, DevPtr<float> pre, DevPtr<float> post,
                       DevPtr<float> comb) override {
    host_->hc_coefficients(params, at(h), dim, at(mix), at(base), at(scale), rows, at(pre),
                           at(post), at(comb));
  }
  void hc_collapse(DevPtr<const float> h, DevPtr<const float> m, int rows, int mult, int dim,
                   DevPtr<float> x) override {
    host_->hc_collapse(at(h), at(m), rows, mult, dim, at(x));
  }
  void hc_expand(DevPtr<float> h, DevPtr<const float> y, DevPtr<const float> post,
                 DevPtr<const float> comb, int rows, int mult, int dim) override {
    host_->hc_expand(at(h), at(y), at(post), at(comb), rows, mult, dim);
  }
  void hc_mean(DevPtr<const float> h, int rows, int mult, int dim, DevPtr<float> out,
               int out_stride) override {
    host_->hc_mean(at(h), rows, mult, dim, at(out), out_stride);
  }
  void hc_copy(DevPtr<const float> x, int rows, int mult, int dim, DevPtr<float> h) override {
    host_->hc_copy(at(x), rows, mult, dim, at(h));
  }
  void ring_write(DevPtr<const float> x, int rows, int dim, int first_position, DevPtr<float> ring,
                  int slots) override {
    host_->ring_write(at(x), rows, dim, first_position, at(ring), slots);
  }
  void store_keys(DevPtr<const float> x, int rows, int first, const KeyRows& keys,
                  int slots) override {
    host_->store_keys(at(x), rows, first, of(keys), slots);
  }
  void compress(DevPtr<const float> kv_ring, DevPtr<const float> gate_ring, int slots, int ratio,
                int first_group, int groups, int dim, DevPtr<float> out) override {
    host_->compress(at(kv_ring), at(gate_ring), slots, ratio, first_group, groups, dim, at(out));
  }
  void attention(const AttentionArgs& fenced) override {
    AttentionArgs args = fenced;
    args.q = at(args.q), args.sinks = at(args.sinks), args.ring = of(args.ring);
    args.block = at(args.block), args.listed_keys = of(args.listed_keys);
    args.list = at(args.list), args.list_count = at(args.list_count), args.out = at(args.out);
    host_->attention(args);
  }
  void index_scores(const IndexArgs& args) override { host_->index_scores(of(args)); }
  void candidate_pool(const IndexArgs& args, int block_size, int blocks, DevPtr<uint8_t> keep,
                      int keep_stride) override {
    host_->candidate_pool(of(args), block_size, blocks, at(keep), keep_stride);
  }
  void select_groups(const IndexArgs& args, DevPtr<const uint8_t> keep, int keep_stride,
                     int block_size, int top_k, DevPtr<int> list, int list_stride,
                     DevPtr<int> list_count) override {
    host_->select_groups(of(args), at(keep), keep_stride, block_size, top_k, at(list), list_stride,
                         at(list_count));
  }
  void engram_gate(DevPtr<float> h, DevPtr<const float> kv, DevPtr<const float> q_weight,
                   DevPtr<const float> k_weight, int rows, int mult, int dim, float eps) override {
    host_->engram_gate(at(h), at(kv), at(q_weight), at(k_weight), rows, mult, dim, eps);
  }
  void route(DevPtr<const float> logits, DevPtr<const float> bias,
             DevPtr<const float> selection_bias, int rows, int experts, int top_k,
             float route_scale, DevPtr<int> ids, DevPtr<float> weights) override {
    host_->route(at(logits), at(bias), at(selection_bias), rows, experts, top_k, route_scale,
                 at(ids), at(weights));
  }
  void swiglu(DevPtr<const float> gate, DevPtr<const float> up, size_t count, float limit,
              DevPtr<float> out) override {
    host_->swiglu(at(gate), at(up), count, limit, at(out));
  }
  void scale(DevPtr<float> x, size_t count, float factor) override {
    host_->scale(at(x), count, factor);
  }
  void add(DevPtr<const float> x, size_t count, DevPtr<float> y) override {
    host_->add(at(x), count, at(y));
  }

 private:
  struct Piece {
    void* host;
    std::vector<uint8_t> bytes;
  };

  static constexpr uintptr_t kFence = uintptr_t{1} << 60;

  static void* moved(const void* address, uintptr_t by) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) + by);
  }
  // Null stays null.
  static void* at(const void* address) {
    return address == nullptr ? nullptr : moved(address, ~kFence + 1);
  }
  template <typename T>
  static DevPtr<T> at(DevPtr<T> address) {
    return DevPtr<T>(static_cast<T*>(at(static_cast<const void*>(address.address()))));
  }
  static Matrix of(Matrix w) { return w.data = at(w.data), w; }
  static KeyRows of(KeyRows keys) { return keys.data = at(keys.data), keys; }
  static IndexArgs of(IndexArgs args) {
    args.q = at(args.q), args.weights = at(args.weights), args.keys = of(args.keys);
    args.scores = at(args.scores);
    return args;
  }

  std::unique_ptr<Device> host_ = make_host_device(nullptr);
  std::vector<Piece> coming_;
};

TEST_CASE("no part of a pass or a draft reads the device's memory itself") {
  for (const char* name : {"mini-xs", "mini-xs2"}) {
    for (const int step : {0, 5}) {
      FencedDevice fenced;
      const TestOptions options{.act_quant = true, .kv = KvKind::kPacked, .expert_step = step};
      TestOptions behind = options;
      behind.device = &fenced;
      const std::vector<int> tokens = test_tokens(test_model(name).config(), 21, 48);
      TestSequence open(name, options), closed(name, behind);
      CHECK(same_bits(closed.run(tokens, 12), open.run(tokens, 12)));
      const int depth = open.config().draft_block;
      DraftOut a, b;
      REQUIRE(open.model().draft(tokens[0], depth, open.draft_experts(), nullptr, &a).ok());
      REQUIRE(closed.model().draft(tokens[0], depth, closed.draft_experts(), nullptr, &b).ok());
      CHECK(std::equal(a.ids, a.ids + depth, b.ids));
      CHECK(std::equal(a.conf, a.conf + depth, b.conf));
      const float* logits = open.model().draft_logits(depth);
      CHECK(std::equal(logits, logits + depth * open.config().vocab,
                       closed.model().draft_logits(depth)));
    }
  }
}

}  // namespace
}  // namespace rota
