// The device tier of an NVIDIA GPU: its streams, events and memory.
//
// Three streams. The device's own computes: splitting x, hits, copied experts, the sum; it also
// lands few rows of x on the host and reads what the CPU pool made of them there. `io` brings
// many rows of x to the host and experts that are copied for a call. `moves` carries admissions and
// victims, which a pass need not wait for: only the layer's next call does, and whoever reads the
// arena place of a victim on its way.
#pragma once

#include <vector>

#include "base/aligned_buffer.h"
#include "device/cuda/cuda_stream.cuh"
#include "device/cuda/expert_kernels.cuh"
#include "device/cuda/landing.cuh"
#include "experts/device_tier.h"

namespace rota {

class CudaTier final : public DeviceTier {
 public:
  static Result<std::unique_ptr<CudaTier>> create(CudaStream& stream, const DeviceTierNeeds& needs);
  // Of its memory, without the slots: what the kernels need, and places for copies and a victim.
  static uint64_t scratch_bytes(const ExpertShape& shape, uint64_t staged_bytes);
  ~CudaTier() override;

  bool computes() const override { return true; }
  uint8_t* slot(uint64_t offset) override { return slots_ + offset; }
  uint8_t* staged(size_t index) override { return staged_ + index * max_blob_; }
  std::span<const uint8_t> ram() override { return {}; }
  uint64_t device_bytes() const override { return device_bytes_; }
  const std::string& arena_note() const override { return arena_note_; }
  Status fill(uint64_t slot, const uint8_t* from, const BlobLayout& layout) override;
  Status settle() override;
  void settle_place(const uint8_t* place) override;
  void arrive(const float* x, int rows) override;
  void begin(const DeviceCall& call) override;
  void stage(size_t index, const uint8_t* from, const BlobLayout& layout) override;
  void compute(std::span<const ExpertJob> hits, std::span<const ExpertJob> copied) override;
  const float* input() override;
  void move(const SlotMove& move) override;
  void enter(uint64_t slot, const uint8_t* from, const BlobLayout& layout) override;
  Status finish(ExpertPool* pool, std::span<const size_t> pooled, float* y) override;

 private:
  explicit CudaTier(CudaStream& stream) : stream_(stream) {}
  Status allocate(const DeviceTierNeeds& needs);
  void record(cudaEvent_t event, cudaStream_t stream, const char* what);
  void wait_for(cudaStream_t stream, cudaEvent_t event, const char* what);
  void bring_x(const float* x, int rows);
  void bring_long(const float* x, int rows);
  void reach();
  void begin_moves();
  void bring(cudaStream_t stream, uint8_t* to, const uint8_t* from, const BlobLayout& layout);
  void launch(std::span<const ExpertJob> jobs);
  void pin_partials(ExpertPool& pool);
  // Pairs of the call that the pool computed, and those that nobody did.
  template <typename Computed, typename Dropped>
  void for_each_elsewhere(std::span<const size_t> pooled, const Computed& computed,
                          const Dropped& dropped) const;
  PairsElsewhere pairs_elsewhere(std::span<const size_t> pooled) const;
  void bring_pairs(const ExpertPool* pool, std::span<const size_t> pooled);

  CudaStream& stream_;
  std::unique_ptr<ExpertKernels> kernels_;
  cudaStream_t io_ = nullptr, moves_ = nullptr;
  cudaEvent_t reached_ = nullptr;  // the device's stream is at the call's x
  cudaEvent_t x_there_ = nullptr, staged_there_ = nullptr;
  std::vector<cudaEvent_t> moved_;       // by layer: what its last call moved
  std::vector<uint8_t> has_moved_;       // by layer: recorded since its last call waited for it
  std::vector<const uint8_t*> leaving_;  // arena places that victims are on their way to
  int leaving_layer_ = -1;               // whose event covers them all

  uint8_t *slots_ = nullptr, *staged_ = nullptr, *victim_ = nullptr;
  uint64_t max_blob_ = 0, device_bytes_ = 0;
  std::unique_ptr<Landing> x_landing_;           // [kEagerRows, dim]
  float* x_host_ = nullptr;                      // pinned [max_rows, dim]
  size_t row_bytes_ = 0;                         // of x
  std::vector<std::span<const uint8_t>> arena_;  // registered
  std::span<uint8_t> partials_;                  // registered; empty: not
  const float* partials_as_device_ = nullptr;
  std::string arena_note_;

  const float* arrived_ = nullptr;  // x that is on its way; null: none
  int arrived_rows_ = 0;
  bool x_lands_ = false;  // the last that was brought: in x_landing_
  DeviceCall call_;
  // Of the call: something is staged, something moves, `reached_` stands in it.
  bool copied_ = false, moving_ = false, reaches_ = false;
  std::vector<CudaExpertJob> jobs_;
};

}  // namespace rota
