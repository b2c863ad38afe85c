// A layer call over three streams.
#include "experts/cuda/tier_streams.cuh"

#include <algorithm>

#include "base/check.h"

namespace rota {
namespace {

constexpr int kEagerRows = 16;  // of a verify pass at most

CudaExpertShape kernel_shape(const ExpertShape& shape) {
  return {shape.dim,   shape.moe_inter,    shape.max_rows,
          shape.top_k, shape.swiglu_limit, shape.act_quant};
}

CudaExpertJob kernel_job(const uint8_t* blob, const BlobLayout& at, std::span<const int> pairs) {
  return {blob, at.gate, at.up, at.down, at.up_offset, at.down_offset, pairs};
}

}  // namespace

uint64_t CudaTier::scratch_bytes(const ExpertShape& shape, uint64_t staged_bytes) {
  return ExpertKernels::scratch_bytes(kernel_shape(shape)) + staged_bytes;
}

Result<std::unique_ptr<CudaTier>> CudaTier::create(CudaStream& stream,
                                                   const DeviceTierNeeds& needs) {
  std::unique_ptr<CudaTier> tier(new CudaTier(stream));
  ROTA_RETURN_IF_ERROR(tier->allocate(needs));
  return tier;
}

Status CudaTier::allocate(const DeviceTierNeeds& needs) {
  max_blob_ = needs.max_blob;
  ROTA_ASSIGN_OR_RETURN(kernels_, ExpertKernels::create(stream_, kernel_shape(needs.shape)));
  const auto take = [this](uint64_t bytes, const char* what, uint8_t** at) -> Status {
    ROTA_ASSIGN_OR_RETURN(void* memory, stream_.allocate(bytes, what));
    *at = static_cast<uint8_t*>(memory);
    return Status();
  };
  ROTA_RETURN_IF_ERROR(take(needs.slots_bytes, "expert slots (lower --slots)", &slots_));
  ROTA_RETURN_IF_ERROR(
      take(needs.staged_blobs * max_blob_, "copies of missed experts (lower --slots)", &staged_));
  ROTA_RETURN_IF_ERROR(take(needs.victim_bytes, "a victim on its way (lower --slots)", &victim_));
  device_bytes_ = needs.slots_bytes +
                  scratch_bytes(needs.shape, needs.staged_blobs * max_blob_ + needs.victim_bytes);
  stream_.make_current();
  CUDA_CHECK(stream_, cudaStreamCreateWithFlags(&io_, cudaStreamNonBlocking));
  CUDA_CHECK(stream_, cudaStreamCreateWithFlags(&moves_, cudaStreamNonBlocking));
  moved_.resize(static_cast<size_t>(needs.layers));
  has_moved_.resize(moved_.size());
  for (cudaEvent_t* event : {&reached_, &x_there_, &staged_there_}) {
    CUDA_CHECK(stream_, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  }
  for (cudaEvent_t& event : moved_) {
    CUDA_CHECK(stream_, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
  row_bytes_ = static_cast<size_t>(needs.shape.dim) * sizeof(float);
  ROTA_ASSIGN_OR_RETURN(
      x_landing_, Landing::open(stream_, row_bytes_ * kEagerRows, "memory for the CPU pool's x"));
  void* pinned = nullptr;
  CUDA_CHECK(stream_,
             cudaMallocHost(&pinned, row_bytes_ * static_cast<size_t>(needs.shape.max_rows)));
  x_host_ = static_cast<float*>(pinned);
  for (const auto& part : needs.arena) {
    const cudaError_t error =
        cudaHostRegister(const_cast<uint8_t*>(part.data()), part.size(), cudaHostRegisterDefault);
    if (error == cudaSuccess) {
      arena_.push_back(part);
    } else {
      cudaGetLastError();
      arena_note_ = cuda_error_text(error, "cudaHostRegister", stream_.index());
    }
  }
  return stream_.status();
}

CudaTier::~CudaTier() {
  stream_.use();
  for (const cudaStream_t stream : {io_, moves_}) {
    if (stream == nullptr) continue;
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
  for (uint8_t* memory : {slots_, staged_, victim_}) stream_.release(memory);
  for (const cudaEvent_t event : {reached_, x_there_, staged_there_}) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  for (const cudaEvent_t event : moved_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  for (const auto& part : arena_) cudaHostUnregister(const_cast<uint8_t*>(part.data()));
  if (!partials_.empty()) cudaHostUnregister(partials_.data());
  if (x_host_ != nullptr) cudaFreeHost(x_host_);
}

void CudaTier::record(cudaEvent_t event, cudaStream_t stream, const char* what) {
  stream_.note(cudaEventRecord(event, stream), what);
}

void CudaTier::wait_for(cudaStream_t stream, cudaEvent_t event, const char* what) {
  stream_.note(cudaStreamWaitEvent(stream, event, 0), what);
}

// A blob from the host, in the kernels' order.
void CudaTier::bring(cudaStream_t stream, uint8_t* to, const uint8_t* from,
                     const BlobLayout& layout) {
  CUDA_CHECK(stream_, cudaMemcpyAsync(to, from, layout.bytes, cudaMemcpyHostToDevice, stream));
  kernels_->lay_out(stream, to, kernel_job(to, layout, {}));
}

Status CudaTier::fill(uint64_t slot, const uint8_t* from, const BlobLayout& layout) {
  stream_.make_current();
  bring(moves_, slots_ + slot, from, layout);
  CUDA_CHECK(stream_, cudaStreamSynchronize(moves_));
  return stream_.status();
}

Status CudaTier::settle() {
  ROTA_RETURN_IF_ERROR(stream_.wait());
  CUDA_CHECK(stream_, cudaStreamSynchronize(io_));
  CUDA_CHECK(stream_, cudaStreamSynchronize(moves_));
  leaving_.clear();
  return stream_.status();
}

void CudaTier::settle_place(const uint8_t* place) {
  if (std::find(leaving_.begin(), leaving_.end(), place) == leaving_.end()) return;
  stream_.make_current();
  CUDA_CHECK(stream_, cudaEventSynchronize(moved_[static_cast<size_t>(leaving_layer_)]));
  leaving_.clear();
}

// Of more rows, beside what computes.
void CudaTier::bring_long(const float* x, int rows) {
  reach();
  wait_for(io_, reached_, "x for the CPU pool");
  CUDA_CHECK(stream_, cudaMemcpyAsync(x_host_, x, row_bytes_ * static_cast<size_t>(rows),
                                      cudaMemcpyDeviceToHost, io_));
  record(x_there_, io_, "x for the CPU pool");
}

void CudaTier::bring_x(const float* x, int rows) {
  x_lands_ = rows <= kEagerRows;
  if (!x_lands_) return bring_long(x, rows);
  x_landing_->send(x, 0, row_bytes_ * static_cast<size_t>(rows));
}

// Whether the pool has a part is not known yet: few rows are brought in any case.
void CudaTier::arrive(const float* x, int rows) {
  arrived_ = nullptr;
  if (rows > kEagerRows) return;
  bring_x(x, rows);
  arrived_ = x;
  arrived_rows_ = rows;
}

void CudaTier::reach() {
  if (reaches_) return;
  record(reached_, stream_.use(), "reaching a layer's experts");
  reaches_ = true;
}

void CudaTier::begin(const DeviceCall& call) {
  call_ = call;
  copied_ = moving_ = reaches_ = false;
  const bool there = arrived_ == call.x && arrived_rows_ == call.rows;
  if (call.pool && !there) bring_x(call.x, call.rows);
  arrived_ = nullptr;
  kernels_->begin(call.x, call.rows);
}

void CudaTier::stage(size_t index, const uint8_t* from, const BlobLayout& layout) {
  if (!copied_) {
    reach();
    wait_for(io_, reached_, "places for copies");  // the last call's have been computed
    copied_ = true;
  }
  if (std::find(leaving_.begin(), leaving_.end(), from) != leaving_.end()) {
    wait_for(io_, moved_[static_cast<size_t>(leaving_layer_)], "a victim on its way");
  }
  bring(io_, staged(index), from, layout);
  record(staged_there_, io_, "copies of missed experts");
}

void CudaTier::launch(std::span<const ExpertJob> jobs) {
  if (jobs.empty()) return;
  jobs_.clear();
  for (const ExpertJob& job : jobs) {
    jobs_.push_back(kernel_job(job.blob, *job.layout, call_.plan->pairs_of(job.distinct)));
  }
  kernels_->compute(jobs_, call_.weights);
  stream_.flush_once();
}

// At once: the host has other things to do before it asks for more.
void CudaTier::compute(std::span<const ExpertJob> hits, std::span<const ExpertJob> copied) {
  const auto layer = static_cast<size_t>(call_.layer);
  stream_.flush();
  if (has_moved_[layer] != 0) {
    wait_for(stream_.use(), moved_[layer], "what entered slots");
    has_moved_[layer] = 0;
  }
  launch(hits);
  if (copied.empty()) return;
  wait_for(stream_.use(), staged_there_, "copies of missed experts");
  launch(copied);
}

const float* CudaTier::input() {
  if (x_lands_) {
    x_landing_->wait();
    return static_cast<const float*>(static_cast<const void*>(x_landing_->memory()));
  }
  stream_.make_current();
  CUDA_CHECK(stream_, cudaEventSynchronize(x_there_));
  return x_host_;
}

// Kernels of earlier calls may still read a victim, and this call's copies a place of the arena.
void CudaTier::begin_moves() {
  stream_.make_current();
  if (moving_) return;
  moving_ = true;
  reach();
  wait_for(moves_, reached_, "slots that are left");
  if (copied_) wait_for(moves_, staged_there_, "places that are left");
}

void CudaTier::move(const SlotMove& move) {
  begin_moves();
  if (move.victim_to != nullptr) {
    CUDA_CHECK(stream_, cudaMemcpyAsync(victim_, slots_ + move.slot, move.victim->bytes,
                                        cudaMemcpyDeviceToDevice, moves_));
    kernels_->take_out(moves_, victim_, kernel_job(victim_, *move.victim, {}));
  }
  if (move.from != nullptr) bring(moves_, slots_ + move.slot, move.from, *move.entering);
  if (move.victim_to != nullptr) {
    CUDA_CHECK(stream_, cudaMemcpyAsync(move.victim_to, victim_, move.victim->bytes,
                                        cudaMemcpyDeviceToHost, moves_));
    leaving_.push_back(move.victim_to);
  }
}

void CudaTier::enter(uint64_t slot, const uint8_t* from, const BlobLayout& layout) {
  begin_moves();
  bring(moves_, slots_ + slot, from, layout);
  CUDA_CHECK(stream_, cudaStreamSynchronize(moves_));  // the buffer is another's from here on
  leaving_.clear();
}

}  // namespace rota
