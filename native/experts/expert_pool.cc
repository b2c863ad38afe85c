// Expert arithmetic over the CPU pool: gate and up rows with SwiGLU, a barrier, down rows, a
// barrier, the sum.
#include "experts/expert_pool.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "device/host/matvec.h"
#include "device/host/matvec_int.h"
#include "formats/numbers.h"

namespace rota {
namespace {

// Output rows a task has at least, and the unit tasks are cut by: the activation quantiser's block.
constexpr int kUnit = 32;
// Tasks a thread gets on average: enough that a late thread costs little, few enough that claiming
// costs nothing.
constexpr int kTasksPerThread = 8;

// Below this many values the caller quantises alone: waking a thread costs more.
constexpr size_t kInlineValues = 8192;

size_t pairs_of(const ExpertShape& shape) {
  return static_cast<size_t>(shape.max_rows) * static_cast<size_t>(shape.top_k);
}

size_t hidden_chunks(const ExpertShape& shape) {
  return (static_cast<size_t>(shape.moe_inter) + kIntChunk - 1) / kIntChunk;
}

// A quantised row of what enters the down matrix, in the largest of the layouts.
size_t hidden_row_bytes(const ExpertShape& shape) {
  size_t most = 0;
  for (size_t l = 0; l < kRowLayouts; ++l) {
    most = std::max(
        most, quantised_row_bytes(static_cast<RowLayout>(l), static_cast<size_t>(shape.moe_inter)));
  }
  return most;
}

size_t input_bytes(const ExpertShape& shape, RowLayout layout) {
  return static_cast<size_t>(shape.max_rows) *
         quantised_row_bytes(layout, static_cast<size_t>(shape.dim));
}

// One matrix for a job's rows: in integers where the format can.
void multiply(Format f, const uint8_t* w, size_t begin, size_t end, size_t k,
              const void* const* quantised, const float* const* plain, int rows, float* const* y) {
  if (row_layout(f) != RowLayout::kNone) {
    matvec_int_rows(f, w, begin, end, k, quantised, rows, y);
  } else {
    matvec_rows(f, w, begin, end, k, plain, rows, y);
  }
}

}  // namespace

uint64_t ExpertPool::scratch_bytes(const ExpertShape& shape) {
  uint64_t bytes =
      pairs_of(shape) * (static_cast<uint64_t>(2 * shape.moe_inter + shape.dim) * sizeof(float) +
                         hidden_row_bytes(shape) + hidden_chunks(shape) * sizeof(std::atomic<int>));
  for (size_t l = 0; l < kRowLayouts; ++l) bytes += input_bytes(shape, static_cast<RowLayout>(l));
  return bytes;
}

ExpertPool::ExpertPool(ThreadPool& threads, const ExpertShape& shape)
    : threads_(threads), shape_(shape) {
  const size_t pairs = pairs_of(shape);
  x_rows_.resize(pairs);
  for (auto& rows : input_rows_) rows.resize(pairs);
  hidden_rows_.resize(pairs);
  up_rows_.resize(pairs);
  partial_rows_.resize(pairs);
  hidden_inputs_.resize(pairs);
  quantised_rows_.resize(pairs);
  quantised_inputs_.resize(pairs);
  pair_weights_.resize(pairs);
  computed_ = std::make_unique<std::atomic<int>[]>(pairs * hidden_chunks(shape));
}

Result<std::unique_ptr<ExpertPool>> ExpertPool::create(ThreadPool& threads,
                                                       const ExpertShape& shape) {
  std::unique_ptr<ExpertPool> pool(new ExpertPool(threads, shape));
  const size_t inter = pairs_of(shape) * static_cast<size_t>(shape.moe_inter) * sizeof(float);
  const size_t dim = pairs_of(shape) * static_cast<size_t>(shape.dim) * sizeof(float);
  ROTA_ASSIGN_OR_RETURN(pool->hidden_, AlignedBuffer::allocate(inter));
  ROTA_ASSIGN_OR_RETURN(pool->up_, AlignedBuffer::allocate(inter));
  ROTA_ASSIGN_OR_RETURN(pool->partial_, AlignedBuffer::allocate(dim));
  for (size_t l = 0; l < kRowLayouts; ++l) {
    const size_t bytes = input_bytes(shape, static_cast<RowLayout>(l));
    ROTA_ASSIGN_OR_RETURN(pool->input_[l], AlignedBuffer::allocate(bytes));
  }
  ROTA_ASSIGN_OR_RETURN(pool->quantised_hidden_,
                        AlignedBuffer::allocate(pairs_of(shape) * hidden_row_bytes(shape)));
  return pool;
}

void ExpertPool::begin(const CallPlan& plan, int top_k, const float* weights, const float* x) {
  ROTA_CHECK(static_cast<size_t>(plan.pairs()) <= x_rows_.size(), "pairs", plan.pairs());
  plan_ = &plan;
  top_k_ = top_k;
  x_ = x;
  input_ready_ = {};
  const auto dim = static_cast<size_t>(shape_.dim);
  const auto inter = static_cast<size_t>(shape_.moe_inter);
  const size_t row_bytes = hidden_row_bytes(shape_);
  const auto order = plan.order();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto pair = static_cast<size_t>(order[i]);
    x_rows_[i] = x + pair / static_cast<size_t>(top_k) * dim;
    hidden_rows_[i] = hidden_.as<float>() + pair * inter;
    hidden_inputs_[i] = hidden_rows_[i];
    up_rows_[i] = up_.as<float>() + pair * inter;
    partial_rows_[i] = partial_.as<float>() + pair * dim;
    quantised_rows_[i] = quantised_hidden_.data() + pair * row_bytes;
    quantised_inputs_[i] = quantised_rows_[i];
    pair_weights_[i] = weights[pair];
  }
}

// The call's rows in a layout, once a call.
void ExpertPool::quantise_input(RowLayout layout) {
  const auto l = static_cast<size_t>(layout);
  if (layout == RowLayout::kNone || input_ready_[l]) return;
  input_ready_[l] = true;
  const auto dim = static_cast<size_t>(shape_.dim), top_k = static_cast<size_t>(top_k_);
  const auto order = plan_->order();
  const size_t row_bytes = quantised_row_bytes(layout, dim);
  uint8_t* to = input_[l].data();
  size_t rows = 0;  // not all of a row's pairs are in the plan, of a skipped row none
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t row = static_cast<size_t>(order[i]) / top_k;
    rows = std::max(rows, row + 1);
    input_rows_[l][i] = to + row * row_bytes;
  }
  const auto one = [&](int row) {
    const auto r = static_cast<size_t>(row);
    quantise_row(layout, x_ + r * dim, dim, 0, dim, to + r * row_bytes);
  };
  if (rows * dim < kInlineValues) {
    for (size_t r = 0; r < rows; ++r) one(static_cast<int>(r));
  } else {
    threads_.run(static_cast<int>(rows), std::ref(one));
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
  for (const ExpertJob& job : jobs) {
    quantise_input(row_layout(job.layout->gate));
    quantise_input(row_layout(job.layout->up));
  }
  for (size_t i = 0; i < jobs.size() * hidden_chunks(shape_); ++i) {
    computed_[i].store(0, std::memory_order_relaxed);
  }
  const int count = static_cast<int>(jobs.size());
  chunks_a_job_ = split(jobs.size(), shape_.moe_inter, &chunk_);
  threads_.run(count * chunks_a_job_, [this](int task) { gate_up(task); });
  chunks_a_job_ = split(jobs.size(), shape_.dim, &chunk_);
  threads_.run(count * chunks_a_job_, [this](int task) { down(task); });
}

void ExpertPool::gate_up(int task) {
  const auto at = static_cast<size_t>(task / chunks_a_job_);
  const ExpertJob& job = jobs_[at];
  const BlobLayout& layout = *job.layout;
  const auto begin = static_cast<size_t>(task % chunks_a_job_) * static_cast<size_t>(chunk_);
  const size_t end =
      std::min(begin + static_cast<size_t>(chunk_), static_cast<size_t>(shape_.moe_inter));
  const auto first = static_cast<size_t>(plan_->begin_of(job.distinct));
  const int rows = static_cast<int>(plan_->pairs_of(job.distinct).size());
  const auto dim = static_cast<size_t>(shape_.dim);
  const auto input = [&](Format f) {
    return &input_rows_[static_cast<size_t>(row_layout(f))][first];
  };
  multiply(layout.gate, job.blob, begin, end, dim, input(layout.gate), &x_rows_[first], rows,
           &hidden_rows_[first]);
  multiply(layout.up, job.blob + layout.up_offset, begin, end, dim, input(layout.up),
           &x_rows_[first], rows, &up_rows_[first]);
  for (size_t i = first; i < first + static_cast<size_t>(rows); ++i) {
    float* hidden = hidden_rows_[i] + begin;
    expert_swiglu(hidden, up_rows_[i] + begin, end - begin, shape_.swiglu_limit, pair_weights_[i],
                  hidden);
    if (shape_.act_quant) fake_quant_fp8(hidden, end - begin);
  }
  if (row_layout(layout.down) != RowLayout::kNone) complete_hidden(at, begin, end);
}

// Counts hidden values [begin, end) of a job as computed. Whoever completes a chunk of 256
// quantises it for all rows: it is still in a cache, and nobody waits for it.
void ExpertPool::complete_hidden(size_t job, size_t begin, size_t end) {
  const auto inter = static_cast<size_t>(shape_.moe_inter);
  const size_t distinct = jobs_[job].distinct;
  const auto first = static_cast<size_t>(plan_->begin_of(distinct));
  const size_t rows = plan_->pairs_of(distinct).size();
  const RowLayout layout = row_layout(jobs_[job].layout->down);
  for (size_t c = begin / kIntChunk; c * kIntChunk < end; ++c) {
    const size_t chunk_begin = c * kIntChunk, chunk_end = std::min(inter, chunk_begin + kIntChunk);
    const auto mine = static_cast<int>(std::min(end, chunk_end) - std::max(begin, chunk_begin));
    // Acquire and release: the last one sees what the others wrote.
    const int before =
        computed_[job * hidden_chunks(shape_) + c].fetch_add(mine, std::memory_order_acq_rel);
    if (static_cast<size_t>(before + mine) != chunk_end - chunk_begin) continue;
    for (size_t i = first; i < first + rows; ++i) {
      quantise_row(layout, hidden_rows_[i], inter, chunk_begin, chunk_end, quantised_rows_[i]);
    }
  }
}

void ExpertPool::down(int task) {
  const ExpertJob& job = jobs_[static_cast<size_t>(task / chunks_a_job_)];
  const auto begin = static_cast<size_t>(task % chunks_a_job_) * static_cast<size_t>(chunk_);
  const size_t end = std::min(begin + static_cast<size_t>(chunk_), static_cast<size_t>(shape_.dim));
  const auto first = static_cast<size_t>(plan_->begin_of(job.distinct));
  const int rows = static_cast<int>(plan_->pairs_of(job.distinct).size());
  multiply(job.layout->down, job.blob + job.layout->down_offset, begin, end,
           static_cast<size_t>(shape_.moe_inter), &quantised_inputs_[first], &hidden_inputs_[first],
           rows, &partial_rows_[first]);
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
