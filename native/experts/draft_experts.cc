// All experts in RAM: plan, one compute, sum.
#include "experts/draft_experts.h"

#include "base/check.h"

namespace rota {
namespace {

uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

DraftTally& DraftTally::operator+=(const DraftTally& other) {
  lookups += other.lookups;
  bytes += other.bytes;
  return *this;
}

uint64_t DraftExperts::memory_bytes(const BlobSource& source) {
  uint64_t total = 0;
  for (int l = 0; l < source.layers(); ++l) {
    for (int e = 0; e < source.experts(); ++e) total += aligned(source.layout(l, e).bytes);
  }
  return total;
}

DraftExperts::DraftExperts(const BlobSource& source, const ExpertShape& shape)
    : source_(source), plan_(shape.max_rows, shape.top_k, source.experts()) {
  jobs_.reserve(static_cast<size_t>(source.experts()));
}

Result<std::unique_ptr<DraftExperts>> DraftExperts::load(const BlobSource& source,
                                                         ThreadPool& threads,
                                                         const ExpertShape& shape) {
  std::unique_ptr<DraftExperts> all(new DraftExperts(source, shape));
  ROTA_ASSIGN_OR_RETURN(all->memory_, AlignedBuffer::allocate(memory_bytes(source), 64, true));
  ROTA_ASSIGN_OR_RETURN(all->pool_, ExpertPool::create(threads, shape));
  uint64_t offset = 0;
  for (int l = 0; l < source.layers(); ++l) {
    for (int e = 0; e < source.experts(); ++e) {
      const uint64_t bytes = source.layout(l, e).bytes;
      all->offsets_.push_back(offset);
      ROTA_RETURN_IF_ERROR(source.read(l, e, 0, bytes, all->memory_.data() + offset));
      offset += aligned(bytes);
    }
  }
  return all;
}

void DraftExperts::begin_pass(PassKind, int) {}

Status DraftExperts::run(int layer, int rows, int top_k, const int* ids, const float* weights,
                         const float* x, float* y) {
  plan_.build(rows, top_k, ids);
  tally_.lookups += plan_.pairs();
  jobs_.clear();
  for (size_t i = 0; i < plan_.distinct().size(); ++i) {
    const int expert = plan_.distinct()[i];
    const BlobLayout& layout = source_.layout(layer, expert);
    const auto id = static_cast<size_t>(layer * source_.experts() + expert);
    jobs_.push_back({memory_.data() + offsets_[id], &layout, i});
    tally_.bytes += static_cast<int64_t>(layout.bytes);
  }
  pool_->begin(plan_, top_k, weights, x);
  pool_->compute(jobs_);
  pool_->finish(rows, y);
  return Status();
}

DraftTally DraftExperts::take_tally() {
  const DraftTally tally = tally_;
  tally_ = DraftTally();
  return tally;
}

}  // namespace rota
