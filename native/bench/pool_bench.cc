// Windows of whole layer calls and of plain reading, in turn.
#include "bench/pool_bench.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <string>

#include "base/clock.h"
#include "base/rng.h"
#include "base/topology.h"
#include "probe/read_choice.h"
#include "probe/samples.h"

namespace rota {
namespace {

constexpr uint64_t kSlice = uint64_t{1} << 20;      // what a thread claims at a time
constexpr uint64_t kStretch = uint64_t{256} << 20;  // read between two looks at the clock

ThreadPoolOptions team_options(int threads) {
  ThreadPoolOptions options;
  options.threads = threads;
  options.name = "rota-bench";
  return options;
}

double per_second(uint64_t bytes, int64_t ns) {
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(std::max<int64_t>(1, ns));
}

template <typename Rate>
const PoolCell& best_by(const std::vector<PoolCell>& cells, Rate rate) {
  return *std::max_element(cells.begin(), cells.end(),
                           [&rate](const auto& a, const auto& b) { return rate(a) < rate(b); });
}

int most_rows(const PoolBenchOptions& options) {
  return *std::max_element(options.rows.begin(), options.rows.end());
}

ExpertShape shape_of(const PoolBenchOptions& options) {
  ExpertShape shape;
  shape.dim = options.shape.dim;
  shape.moe_inter = options.shape.moe_inter;
  shape.max_rows = most_rows(options);
  shape.top_k = options.top_k;
  return shape;
}

std::vector<int> team_sizes(const PoolBenchOptions& options) {
  return thread_counts(options.threads > 0 ? options.threads : usable_cores());
}

}  // namespace

const PoolCell& PoolLine::best_pool() const {
  return best_by(cells, [](const PoolCell& c) { return c.pool.median; });
}
const PoolCell& PoolLine::best_ceiling() const {
  return best_by(cells, [](const PoolCell& c) { return c.ceiling.median; });
}

ExpertShape PoolBench::expert_shape() const { return shape_of(options_); }

uint64_t PoolBench::memory_bytes(const PoolBenchOptions& options) {
  return options.bytes + team_sizes(options).size() * ExpertPool::scratch_bytes(shape_of(options));
}

Result<std::unique_ptr<PoolBench>> PoolBench::create(const PoolBenchOptions& options) {
  std::unique_ptr<PoolBench> bench(new PoolBench(options));
  ROTA_ASSIGN_OR_RETURN(RandomBlobs blobs,
                        RandomBlobs::allocate(options.bytes, options.shape, options.huge_pages));
  bench->blobs_ = std::make_unique<RandomBlobs>(std::move(blobs));
  for (const int threads : team_sizes(options)) {
    Team team{std::make_unique<ThreadPool>(team_options(threads)), nullptr};
    ROTA_ASSIGN_OR_RETURN(team.experts, ExpertPool::create(*team.threads, bench->expert_shape()));
    bench->teams_.push_back(std::move(team));
  }
  const auto rows = static_cast<size_t>(most_rows(options));
  const auto dim = static_cast<size_t>(options.shape.dim);
  const auto top_k = static_cast<size_t>(options.top_k);
  bench->x_.resize(rows * dim);
  for (size_t i = 0; i < bench->x_.size(); ++i) {
    bench->x_[i] = static_cast<float>(unit_double(splitmix64(options.seed + i)) * 2 - 1);
  }
  bench->weights_.assign(rows * top_k, 1.f / static_cast<float>(top_k));
  bench->ids_.resize(rows * top_k);
  bench->y_.resize(rows * dim);
  bench->jobs_.reserve(top_k);
  return bench;
}

// The next top_k experts of a shuffled order, the same for every row; none comes twice before all
// came once, so what a cache kept of an earlier call is of no use.
void PoolBench::next_experts() {
  const auto top_k = static_cast<size_t>(options_.top_k);
  if (next_ + top_k > order_.size()) {
    for (size_t i = order_.size(); i > 1; --i) {
      std::swap(order_[i - 1], order_[splitmix64(options_.seed * 7919 + draws_++) % i]);
    }
    next_ = 0;
  }
  for (size_t i = 0; i < ids_.size(); ++i) ids_[i] = order_[next_ + i % top_k];
  next_ += top_k;
}

void PoolBench::call(Team& team, int rows, float* y) {
  plan_->build(rows, options_.top_k, ids_.data());
  team.experts->begin(*plan_, options_.top_k, weights_.data(), x_.data());
  jobs_.clear();
  for (size_t i = 0; i < plan_->distinct().size(); ++i) {
    const auto expert = static_cast<size_t>(plan_->distinct()[i]);
    jobs_.push_back({blobs_->blob(expert), &blobs_->layout(), i});
  }
  team.experts->compute(jobs_);
  team.experts->finish(rows, y);
}

double PoolBench::pool_window(size_t index, int rows) {
  Team& team = teams_[index];
  team.threads->place_caller();
  const auto window_ns = static_cast<int64_t>(options_.window_ms * 1e6);
  const int64_t begin = now_ns();
  uint64_t bytes = 0;
  int64_t ns = 0;
  do {
    next_experts();
    call(team, rows, y_.data());
    bytes += blobs_->layout().bytes * plan_->distinct().size();
    ns = now_ns() - begin;
  } while (ns < window_ns);
  team.threads->release_caller();
  return per_second(bytes, ns);
}

double PoolBench::ceiling_window(size_t index) {
  Team& team = teams_[index];
  team.threads->place_caller();
  const auto window_ns = static_cast<int64_t>(options_.window_ms * 1e6);
  const ReadSum sum = ceiling_.sum;
  const uint64_t slices = blobs_->memory().size() / kSlice;
  const auto stretch = static_cast<int>(std::min(slices, kStretch / kSlice));
  std::atomic<uint64_t> total{0};
  uint64_t bytes = 0;
  const int64_t begin = now_ns();
  int64_t ns = 0;
  do {
    team.threads->run(stretch, [&](int task) {
      const uint64_t slice = (cursor_ + static_cast<uint64_t>(task)) % slices;
      const auto* words =
          reinterpret_cast<const uint64_t*>(blobs_->memory().data() + slice * kSlice);
      total.fetch_add(sum(words, kSlice / 8), std::memory_order_relaxed);
    });
    cursor_ = (cursor_ + static_cast<uint64_t>(stretch)) % slices;
    bytes += static_cast<uint64_t>(stretch) * kSlice;
    ns = now_ns() - begin;
  } while (ns < window_ns);
  sink_ += total.load();
  team.threads->release_caller();
  return per_second(bytes, ns);
}

// A rate of wrong answers is no rate.
Status PoolBench::check_answers(Format format) {
  const std::string name = format_info(format).name;
  next_experts();
  std::vector<float> first(y_.size()), other(y_.size());
  for (const int rows : options_.rows) {
    const size_t n = static_cast<size_t>(rows) * static_cast<size_t>(options_.shape.dim);
    call(teams_.front(), rows, first.data());
    const bool numbers = std::all_of(first.begin(), first.begin() + static_cast<int64_t>(n),
                                     [](float v) { return std::isfinite(v) && v != 0.f; });
    if (!numbers) return Status(Code::kLoad, name + ": the experts' answer is not made of numbers");
    for (Team& team : teams_) {
      call(team, rows, other.data());
      if (std::equal(first.begin(), first.begin() + static_cast<int64_t>(n), other.begin())) {
        continue;
      }
      return Status(Code::kLoad, name + ": " + std::to_string(rows) +
                                     " rows answer differently on " +
                                     std::to_string(team.threads->threads()) + " threads");
    }
  }
  return Status();
}

Status PoolBench::prepare(Format format) {
  ROTA_RETURN_IF_ERROR(blobs_->fill(format, options_.seed, *teams_.back().threads));
  if (blobs_->count() < static_cast<size_t>(options_.top_k)) {
    return Status(Code::kUsage, std::string(format_info(format).name) + ": only " +
                                    std::to_string(blobs_->count()) + " experts fit; raise --gib");
  }
  if (ceiling_.sum == nullptr) {
    const size_t words = blobs_->memory().size() / kSlice * (kSlice / 8);
    ceiling_ = fastest_read_kernel(
        *teams_.back().threads, reinterpret_cast<const uint64_t*>(blobs_->memory().data()), words);
  }
  const auto count = static_cast<int>(blobs_->count());
  plan_ = std::make_unique<CallPlan>(most_rows(options_), options_.top_k, count);
  order_.resize(static_cast<size_t>(count));
  std::iota(order_.begin(), order_.end(), 0);
  next_ = order_.size();
  return check_answers(format);
}

std::vector<PoolLine> PoolBench::run_format(Format format, int done, int all,
                                            const Progress& progress) {
  const size_t teams = teams_.size();
  // The memory is the same whatever the rows, so all ceiling windows of a format count together.
  std::vector<std::vector<double>> pool(options_.rows.size() * teams), ceiling(teams);
  for (int round = 0; round < options_.rounds; ++round) {
    for (size_t r = 0; r < options_.rows.size(); ++r) {
      for (size_t t = 0; t < teams; ++t) {
        progress(done++, all, format, options_.rows[r]);
        ceiling[t].push_back(ceiling_window(t));
        pool[r * teams + t].push_back(pool_window(t, options_.rows[r]));
      }
    }
  }
  std::vector<PoolLine> lines;
  for (size_t r = 0; r < options_.rows.size(); ++r) {
    PoolLine line{format, options_.rows[r], blobs_->count(), blobs_->layout().bytes, {}};
    for (size_t t = 0; t < teams; ++t) {
      line.cells.push_back(
          {teams_[t].threads->threads(), spread_of(pool[r * teams + t]), spread_of(ceiling[t])});
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<std::vector<PoolLine>> PoolBench::run(const Progress& progress) {
  const int per_format = options_.rounds * static_cast<int>(options_.rows.size() * teams_.size());
  const int all = per_format * static_cast<int>(options_.formats.size());
  std::vector<PoolLine> lines;
  int done = 0;
  for (const Format format : options_.formats) {
    ROTA_RETURN_IF_ERROR(prepare(format));
    const std::vector<PoolLine> more = run_format(format, done, all, progress);
    lines.insert(lines.end(), more.begin(), more.end());
    done += per_format;
  }
  return lines;
}

}  // namespace rota
