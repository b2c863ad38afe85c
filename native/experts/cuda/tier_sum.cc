// The end of a layer call: what the CPU pool computed meets what the GPU did.
#include "experts/cuda/tier_streams.cuh"

namespace rota {

// Once: the GPU reads them where they are.
void CudaTier::pin_partials(ExpertPool& pool) {
  if (!partials_.empty() || pool.partial_memory().empty()) return;
  const auto memory = pool.partial_memory();
  if (cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterMapped) != cudaSuccess) {
    cudaGetLastError();
    return;
  }
  partials_ = memory;
  void* as_device = nullptr;
  if (cudaHostGetDevicePointer(&as_device, memory.data(), 0) == cudaSuccess) {
    partials_as_device_ = static_cast<const float*>(as_device);
  } else {
    cudaGetLastError();
  }
}

template <typename Computed, typename Dropped>
void CudaTier::for_each_elsewhere(std::span<const size_t> pooled, const Computed& computed,
                                  const Dropped& dropped) const {
  for (const size_t distinct : pooled) {
    for (const int pair : call_.plan->pairs_of(distinct)) computed(pair);
  }
  if (call_.plan->pairs() == call_.rows * call_.top_k) return;
  for (int pair = 0; pair < call_.rows * call_.top_k; ++pair) {
    if (call_.plan->dropped(pair)) dropped(pair);
  }
}

// Of few pairs. The pool's next partial sums are computed after input() has waited for a later x:
// these have been read by then.
PairsElsewhere CudaTier::pairs_elsewhere(std::span<const size_t> pooled) const {
  PairsElsewhere elsewhere;
  elsewhere.partial = partials_as_device_;
  for_each_elsewhere(
      pooled, [&](int pair) { elsewhere.computed.add(pair); },
      [&](int pair) { elsewhere.dropped.add(pair); });
  return elsewhere;
}

// Of many: to where the kernels' own are.
void CudaTier::bring_pairs(const ExpertPool* pool, std::span<const size_t> pooled) {
  const cudaStream_t compute = stream_.use();
  for_each_elsewhere(
      pooled,
      [&](int pair) {
        CUDA_CHECK(stream_, cudaMemcpyAsync(kernels_->partial(pair), pool->partial(pair),
                                            row_bytes_, cudaMemcpyHostToDevice, compute));
      },
      [&](int pair) {
        CUDA_CHECK(stream_, cudaMemsetAsync(kernels_->partial(pair), 0, row_bytes_, compute));
      });
}

Status CudaTier::finish(ExpertPool* pool, std::span<const size_t> pooled, float* y) {
  stream_.make_current();
  if (pool != nullptr) pin_partials(*pool);
  const auto pairs = static_cast<size_t>(call_.rows) * static_cast<size_t>(call_.top_k);
  const bool in_place = pooled.empty() || partials_as_device_ != nullptr;
  if (pairs <= PairSet::kMost && in_place) {
    kernels_->finish(call_.rows, y, pairs_elsewhere(pooled));
  } else {
    bring_pairs(pool, pooled);
    kernels_->finish(call_.rows, y);
  }
  if (moving_) {
    record(moved_[static_cast<size_t>(call_.layer)], moves_, "what entered slots");
    has_moved_[static_cast<size_t>(call_.layer)] = 1;
    leaving_layer_ = call_.layer;
  }
  return stream_.status();
}

}  // namespace rota
