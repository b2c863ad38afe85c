// Expert arithmetic over the CPU pool: gate and up rows with SwiGLU, a barrier, down rows, a
// barrier, the sum.
#include "experts/expert_pool.h"

#include <algorithm>

#include "base/check.h"
#include "device/host/matvec.h"
#include "formats/numbers.h"

namespace rota {
namespace {

// Output rows a task has at least, and the unit tasks are cut by: the activation quantiser's block.
constexpr int kUnit = 32;
// Tasks a thread gets on average: enough that a late thread costs little, few enough that claiming
// costs nothing.
constexpr int kTasksPerThread = 8;

size_t pairs_of(const ExpertShape& shape) {
  return static_cast<size_t>(shape.max_rows) * static_cast<size_t>(shape.top_k);
}

}  // namespace

uint64_t ExpertPool::scratch_bytes(const ExpertShape& shape) {
  return pairs_of(shape) * static_cast<uint64_t>(2 * shape.moe_inter + shape.dim) * sizeof(float);
}

ExpertPool::ExpertPool(ThreadPool& threads, const ExpertShape& shape)
    : threads_(threads), shape_(shape) {
  const size_t pairs = pairs_of(shape);
  x_rows_.resize(pairs);
  hidden_rows_.resize(pairs);
  up_rows_.resize(pairs);
  partial_rows_.resize(pairs);
  hidden_inputs_.resize(pairs);
  pair_weights_.resize(pairs);
}

Result<std::unique_ptr<ExpertPool>> ExpertPool::create(ThreadPool& threads,
                                                       const ExpertShape& shape) {
  std::unique_ptr<ExpertPool> pool(new ExpertPool(threads, shape));
  const size_t inter = pairs_of(shape) * static_cast<size_t>(shape.moe_inter) * sizeof(float);
  const size_t dim = pairs_of(shape) * static_cast<size_t>(shape.dim) * sizeof(float);
  ROTA_ASSIGN_OR_RETURN(pool->hidden_, AlignedBuffer::allocate(inter));
  ROTA_ASSIGN_OR_RETURN(pool->up_, AlignedBuffer::allocate(inter));
  ROTA_ASSIGN_OR_RETURN(pool->partial_, AlignedBuffer::allocate(dim));
  return pool;
}

void ExpertPool::begin(const CallPlan& plan, int top_k, const float* weights, const float* x) {
  ROTA_CHECK(static_cast<size_t>(plan.pairs()) <= x_rows_.size(), "pairs", plan.pairs());
  plan_ = &plan;
  top_k_ = top_k;
  const auto dim = static_cast<size_t>(shape_.dim);
  const auto inter = static_cast<size_t>(shape_.moe_inter);
  const auto order = plan.order();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto pair = static_cast<size_t>(order[i]);
    x_rows_[i] = x + pair / static_cast<size_t>(top_k) * dim;
    hidden_rows_[i] = hidden_.as<float>() + pair * inter;
    hidden_inputs_[i] = hidden_rows_[i];
    up_rows_[i] = up_.as<float>() + pair * inter;
    partial_rows_[i] = partial_.as<float>() + pair * dim;
    pair_weights_[i] = weights[pair];
  }
}

// Cuts `outputs` rows of each job; returns the tasks of one job and the rows of one task.
int ExpertPool::split(size_t jobs, int outputs, int* chunk) const {
  const int64_t all = static_cast<int64_t>(jobs) * outputs;
  const int64_t wanted = all / (static_cast<int64_t>(kTasksPerThread) * threads_.threads());
  const int64_t units = std::clamp<int64_t>(wanted / kUnit, 1, (outputs + kUnit - 1) / kUnit);
  *chunk = static_cast<int>(units) * kUnit;
  return (outputs + *chunk - 1) / *chunk;
}

void ExpertPool::compute(std::span<const ExpertJob> jobs) {
  if (jobs.empty()) return;
  jobs_ = jobs;
  const int count = static_cast<int>(jobs.size());
  chunks_a_job_ = split(jobs.size(), shape_.moe_inter, &chunk_);
  threads_.run(count * chunks_a_job_, [this](int task) { gate_up(task); });
  chunks_a_job_ = split(jobs.size(), shape_.dim, &chunk_);
  threads_.run(count * chunks_a_job_, [this](int task) { down(task); });
}

void ExpertPool::gate_up(int task) {
  const ExpertJob& job = jobs_[static_cast<size_t>(task / chunks_a_job_)];
  const BlobLayout& layout = *job.layout;
  const auto begin = static_cast<size_t>(task % chunks_a_job_) * static_cast<size_t>(chunk_);
  const size_t end =
      std::min(begin + static_cast<size_t>(chunk_), static_cast<size_t>(shape_.moe_inter));
  const auto first = static_cast<size_t>(plan_->begin_of(job.distinct));
  const int rows = static_cast<int>(plan_->pairs_of(job.distinct).size());
  const auto dim = static_cast<size_t>(shape_.dim);
  matvec_rows(layout.gate, job.blob, begin, end, dim, &x_rows_[first], rows, &hidden_rows_[first]);
  matvec_rows(layout.up, job.blob + layout.up_offset, begin, end, dim, &x_rows_[first], rows,
              &up_rows_[first]);
  for (size_t i = first; i < first + static_cast<size_t>(rows); ++i) {
    float* hidden = hidden_rows_[i] + begin;
    expert_swiglu(hidden, up_rows_[i] + begin, end - begin, shape_.swiglu_limit, pair_weights_[i],
                  hidden);
    if (shape_.act_quant) fake_quant_fp8(hidden, end - begin);
  }
}

void ExpertPool::down(int task) {
  const ExpertJob& job = jobs_[static_cast<size_t>(task / chunks_a_job_)];
  const auto begin = static_cast<size_t>(task % chunks_a_job_) * static_cast<size_t>(chunk_);
  const size_t end = std::min(begin + static_cast<size_t>(chunk_), static_cast<size_t>(shape_.dim));
  const auto first = static_cast<size_t>(plan_->begin_of(job.distinct));
  const int rows = static_cast<int>(plan_->pairs_of(job.distinct).size());
  matvec_rows(job.layout->down, job.blob + job.layout->down_offset, begin, end,
              static_cast<size_t>(shape_.moe_inter), &hidden_inputs_[first], rows,
              &partial_rows_[first]);
}

void ExpertPool::sum_row(int row) {
  const auto dim = static_cast<size_t>(shape_.dim);
  float* y = y_ + static_cast<size_t>(row) * dim;
  std::fill(y, y + dim, 0.0f);
  for (int k = 0; k < top_k_; ++k) {
    if (plan_->dropped(row * top_k_ + k)) continue;
    const float* part = partial_.as<float>() + static_cast<size_t>(row * top_k_ + k) * dim;
    for (size_t o = 0; o < dim; ++o) y[o] += part[o];
  }
}

void ExpertPool::finish(int rows, float* y) {
  y_ = y;
  if (rows < 8) {
    for (int row = 0; row < rows; ++row) sum_row(row);
  } else {
    threads_.run(rows, [this](int row) { sum_row(row); });
  }
  plan_ = nullptr;
}

}  // namespace rota
