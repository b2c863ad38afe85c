// Computes routed experts on the CPU. Owns the arithmetic's split over threads and its scratch;
// knows no tier: a job is a blob in memory and the pairs that want it.
//
// Each distinct blob is decoded once for all its rows. Where a format has an integer kernel
// (device/host/matvec_int.h) activations are quantised to 16 bits: a layer's input once a call and
// layout, what enters the down matrix in the task that completes a chunk of it. Every number has
// one order of summation that depends neither on how jobs are grouped into compute() calls nor on
// rows, threads or tiers: a dot product's is the kernel's, a row's sum over its experts is the
// router's.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "device/host/matvec_activations.h"
#include "experts/blob.h"
#include "experts/call_plan.h"

namespace rota {

struct ExpertShape {
  int dim = 0, moe_inter = 0;
  int max_rows = 0, top_k = 0;
  float swiglu_limit = 10.f;
  bool act_quant = false;  // e4m3 rounding (blocks of 32) of what enters the down matrix
};

struct ExpertJob {
  const uint8_t* blob = nullptr;
  const BlobLayout* layout = nullptr;
  size_t distinct = 0;  // index into the plan's distinct experts
};

class ExpertPool {
 public:
  // Scratch for max_rows * top_k pairs.
  static Result<std::unique_ptr<ExpertPool>> create(ThreadPool& threads, const ExpertShape& shape);
  static uint64_t scratch_bytes(const ExpertShape& shape);

  // A call may come soon: the pool's threads wait for it awake, a layer's time at most.
  void expect_call() { threads_.expect_run(kExpectedWithinUs); }

  // A layer call: begin, compute (several times, every distinct expert in exactly one), finish.
  // x[rows, dim], weights[rows, top_k]; plan and x stay valid until finish.
  void begin(const CallPlan& plan, int top_k, const float* weights, const float* x);
  void compute(std::span<const ExpertJob> jobs);
  // y[rows, dim]
  void finish(int rows, float* y);
  // Instead of finish(), for who sums elsewhere: [dim] of a pair (row * top_k + k) that was
  // computed, valid until the next compute(). All pairs' lie in one memory.
  const float* partial(int pair) const {
    return partial_.as<float>() + static_cast<size_t>(pair) * static_cast<size_t>(shape_.dim);
  }
  std::span<uint8_t> partial_memory() { return {partial_.data(), partial_.size()}; }

 private:
  static constexpr int kExpectedWithinUs = 500;

  ExpertPool(ThreadPool& threads, const ExpertShape& shape);
  int split(size_t jobs, int outputs, int* chunk) const;
  void quantise_input(RowLayout layout);
  void gate_up(int task);
  void complete_hidden(size_t job, size_t begin, size_t end);
  void down(int task);
  void sum_row(int row);

  ThreadPool& threads_;
  ExpertShape shape_;
  AlignedBuffer hidden_, up_, partial_;  // [pairs, moe_inter] twice, [pairs, dim]
  // Quantised rows: of the input by layout [max_rows], of what enters the down matrix [pairs].
  std::array<AlignedBuffer, kRowLayouts> input_;
  AlignedBuffer quantised_hidden_;
  // By position in the plan's order, so that a job's rows are neighbours.
  std::vector<const float*> x_rows_;
  std::array<std::vector<const void*>, kRowLayouts> input_rows_;
  std::vector<float*> hidden_rows_, up_rows_, partial_rows_;
  std::vector<const float*> hidden_inputs_;
  std::vector<void*> quantised_rows_;
  std::vector<const void*> quantised_inputs_;
  std::vector<float> pair_weights_;
  // Of a job's hidden values, by job and chunk of 256: how many are computed.
  std::unique_ptr<std::atomic<int>[]> computed_;
  // Of the call in progress.
  const CallPlan* plan_ = nullptr;
  const float* x_ = nullptr;
  std::array<bool, kRowLayouts> input_ready_ = {};
  std::span<const ExpertJob> jobs_;
  int chunk_ = 0, chunks_a_job_ = 0, top_k_ = 0;
  float* y_ = nullptr;
};

}  // namespace rota
