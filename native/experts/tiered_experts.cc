// A layer call of the tiered placement: decide, compute what is held while the file is read, move
// what was admitted, compute what was read.
#include "experts/tiered_experts.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"

namespace rota {

void TieredExperts::begin_pass(PassKind kind, int) {
  kind_ = kind;
  stage_->forget_prefetches(tally_.prefetch);
}

// Unless asked otherwise prompt tokens are routed exactly: a prompt's logits do not depend on what
// ran before it.
const float* TieredExperts::selection_bias(int layer) {
  const float factor = kind_ == PassKind::kPrefill ? options_.prompt_bias : 1;
  const float resident = factor * options_.route_bias, file = factor * options_.route_bias_file;
  if (resident == 0 && file == 0) return nullptr;
  placement_.bias(layer, resident, file, bias_);
  return bias_.data();
}

// A prompt chunk needs most experts of a layer anyway: its reads overlap the pool's work without a
// guess.
bool TieredExperts::wants_hints(int layer) const {
  return stage_->prefetch_limit() > 0 && kind_ != PassKind::kPrefill &&
         placement_.needs_file(layer);
}

void TieredExperts::hint(int layer, int rows, int top_k, const int* ids) {
  if (!wants_hints(layer)) return;
  int budget = prefetch_carry_.take(options_.prefetch);
  std::fill(hinted_.begin(), hinted_.end(), uint8_t{0});
  for (int p = 0; p < rows * top_k && budget > 0; ++p) {
    uint8_t& seen = hinted_[static_cast<size_t>(ids[p])];
    if (seen != 0 || placement_.tier(layer, ids[p]) != Tier::kFile) continue;
    seen = 1;
    if (!stage_->prefetch(layer, ids[p], tally_.prefetch)) return;
    --budget;
  }
}

Status TieredExperts::run(int layer, int rows, int top_k, const int* ids, const float* weights,
                          const float* x, float* y) {
  if (!intact_) return Status(Code::kIo, "experts were lost by a reset that failed; reset again");
  const int64_t start = now_ns();
  layer_ = layer;
  if (routes_ != nullptr) {
    ROTA_RETURN_IF_ERROR(routes_->add(kind_, layer, rows, top_k, ids));
  }
  tally_.lookups += static_cast<int64_t>(rows) * top_k;
  if (options_.skip.any() && kind_ != PassKind::kPrefill) {
    skipper_.judge(placement_, layer, rows, top_k, ids, weights);
    plan_.build(rows, top_k, ids, skipper_.dropped());
    weights = skipper_.weights();
    tally_.skipped += skipper_.count();
  } else {
    plan_.build(rows, top_k, ids);
  }
  const auto distinct = plan_.distinct();
  sources_.resize(distinct.size());
  held_.resize(distinct.size());
  placement_.decide(kind_, rows, layer, distinct, sources_);
  file_experts_.clear();
  file_distinct_.clear();
  for (size_t i = 0; i < distinct.size(); ++i) {
    held_[i] = home_of(layer, distinct[i]);
    if (sources_[i] != Source::kFile) continue;
    file_experts_.push_back(distinct[i]);
    file_distinct_.push_back(i);
  }
  // Homes change here; the bytes follow below, and held_ says where they are until then.
  admissions_.clear();
  if (kind_ != PassKind::kPrefill) placement_.admit(layer, distinct, admissions_);

  late_.resize(file_experts_.size());
  stage_->collect(layer, file_experts_, late_, tally_.prefetch);
  begin_device(rows, top_k, weights, x);
  stage_pcie();
  compute_on_device();
  begin_pool(top_k, weights);
  compute_held();
  move_admitted();
  const Status status = compute_file();
  stage_->finish(tally_.prefetch);
  if (!status.ok()) {
    const Status settled = fail_admissions();
    return settled.ok() ? status : settled;
  }
  ROTA_RETURN_IF_ERROR(finish_call(y));
  tally_.experts_ns += now_ns() - start;
  return Status();
}

const uint8_t* TieredExperts::home_of(int layer, int expert) {
  const auto place = static_cast<size_t>(placement_.place(layer, expert));
  switch (placement_.tier(layer, expert)) {
    case Tier::kSlot:
      return device_->slot(placement_.slots()[place].offset);
    case Tier::kArena:
      if (in_place()) return source_.in_place(layer, expert);
      return arena_.data() + placement_.arena()[place].offset;
    case Tier::kFile:
      break;
  }
  return nullptr;
}

// Called where the blob's bytes are taken from `source`, once a layer and pass.
void TieredExperts::count(size_t distinct, Source source) {
  const BlobLayout& layout = source_.layout(layer_, plan_.distinct()[distinct]);
  tally_.source[source] += static_cast<int64_t>(plan_.pairs_of(distinct).size());
  tally_.distinct[source] += 1;
  tally_.bytes[source] += static_cast<int64_t>(layout.bytes);
  tally_.blobs[static_cast<size_t>(source)][layout.tally_class] += 1;
}

// What lies on a device of its own is computed there, everything else by the pool.
void TieredExperts::begin_device(int rows, int top_k, const float* weights, const float* x) {
  pooled_.clear();
  for (size_t i = 0; i < sources_.size(); ++i) {
    const bool there = sources_[i] == Source::kHit || sources_[i] == Source::kPcie;
    if (!there || !device_->computes()) pooled_.push_back(i);
  }
  pool_computes_ = !device_->computes() || !pooled_.empty();
  device_->begin({layer_, rows, top_k, &plan_, weights, x, pool_computes_});
}

void TieredExperts::stage_pcie() {
  size_t staged = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i] != Source::kPcie) continue;
    device_->stage(staged, held_[i], source_.layout(layer_, plan_.distinct()[i]));
    count(i, Source::kPcie);
    held_[i] = device_->staged(staged++);
  }
}

void TieredExperts::compute_on_device() {
  if (!device_->computes()) return;
  hit_jobs_.clear();
  copied_jobs_.clear();
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i] != Source::kHit && sources_[i] != Source::kPcie) continue;
    auto& jobs = sources_[i] == Source::kHit ? hit_jobs_ : copied_jobs_;
    jobs.push_back({held_[i], &source_.layout(layer_, plan_.distinct()[i]), i});
    if (sources_[i] == Source::kHit) count(i, Source::kHit);
  }
  device_->compute(hit_jobs_, copied_jobs_);
}

// The pool's busy time is what its benchmark measures: all of a call through its entry, and nothing
// of the moves and reads between.
void TieredExperts::begin_pool(int top_k, const float* weights) {
  if (!pool_computes_) return;
  const float* x = device_->input();
  const int64_t start = now_ns();
  pool_->begin(plan_, top_k, weights, x);
  tally_.pool_ns += now_ns() - start;
}

void TieredExperts::compute_jobs() {
  for (const ExpertJob& job : jobs_) {
    tally_.pool_bytes += static_cast<int64_t>(job.layout->bytes);
  }
  const int64_t start = now_ns();
  pool_->compute(jobs_);
  tally_.pool_ns += now_ns() - start;
}

// Where the pool computed everything its sum is the call's, and counts to its time.
Status TieredExperts::finish_call(float* y) {
  const int64_t start = now_ns();
  Status status = device_->finish(pool_computes_ ? pool_.get() : nullptr, pooled_, y);
  if (!device_->computes()) tally_.pool_ns += now_ns() - start;
  return status;
}

void TieredExperts::compute_held() {
  if (!pool_computes_) return;
  jobs_.clear();
  for (const size_t i : pooled_) {
    if (sources_[i] == Source::kFile) continue;
    if (sources_[i] == Source::kCpu) device_->settle_place(held_[i]);
    jobs_.push_back({held_[i], &source_.layout(layer_, plan_.distinct()[i]), i});
    if (sources_[i] != Source::kPcie) count(i, sources_[i]);
  }
  compute_jobs();
}

// Victims leave and arena-held experts enter. An expert that is being read enters in compute_file.
void TieredExperts::move_admitted() {
  const auto layout = [this](int id) {
    return &source_.layout(id / placement_.experts(), id % placement_.experts());
  };
  const auto arena_at = [this](int place) {
    return arena_.data() + placement_.arena()[static_cast<size_t>(place)].offset;
  };
  for (const Admission& admission : admissions_) {
    SlotMove move;
    move.slot = placement_.slots()[static_cast<size_t>(admission.slot)].offset;
    if (admission.victim_place >= 0) {
      move.victim_to = arena_at(admission.victim_place);
      move.victim = layout(admission.victim);
      ++tally_.demoted;
    }
    if (admission.from_place >= 0) {
      move.from = in_place() ? source_.in_place(layer_, admission.id % placement_.experts())
                             : arena_at(admission.from_place);
      move.entering = layout(admission.id);
      ++tally_.admitted;
    }
    device_->move(move);
  }
}

Status TieredExperts::compute_file() {
  for (size_t finished = 0; finished < file_experts_.size();) {
    const int64_t wait = now_ns();
    ROTA_ASSIGN_OR_RETURN(const auto ready, stage_->next());
    tally_.file_wait_ns += now_ns() - wait;
    jobs_.clear();
    for (const FileStage::Ready& r : ready) {
      const size_t i = file_distinct_[r.index];
      jobs_.push_back({r.blob, &source_.layout(layer_, plan_.distinct()[i]), i});
      count(i, Source::kFile);
      if (late_[r.index] != 0) tally_.late += static_cast<int64_t>(plan_.pairs_of(i).size());
    }
    compute_jobs();
    for (const FileStage::Ready& r : ready) {
      const int expert = file_experts_[r.index];
      if (placement_.tier(layer_, expert) == Tier::kSlot) {
        const auto slot = static_cast<size_t>(placement_.place(layer_, expert));
        device_->enter(placement_.slots()[slot].offset, r.blob, source_.layout(layer_, expert));
        ++tally_.admitted;
      }
      stage_->done(r.index);
    }
    finished += ready.size();
  }
  return Status();
}

// After a failed read: an admitted expert whose bytes may not have arrived is not in its slot.
Status TieredExperts::fail_admissions() {
  for (const Admission& move : admissions_) {
    if (move.from_place < 0) placement_.abandon(move.slot);
  }
  return device_->settle();  // of a call that is never finished
}

// While the device gets there, what misses need of the host gets ready.
void TieredExperts::arrive(const float* x, int rows) {
  device_->arrive(x, rows);
  if (device_->computes() && pool_ != nullptr) pool_->expect_call();
}

ExpertTally TieredExperts::take_tally() {
  const ExpertTally tally = tally_;
  tally_ = ExpertTally();
  return tally;
}

}  // namespace rota
