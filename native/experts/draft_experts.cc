// All experts on the device: plan, one compute, sum.
#include "experts/draft_experts.h"

#include "base/aligned_buffer.h"
#include "base/check.h"

namespace rota {
namespace {

uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Far below every router score and finite: a pruned expert loses to every kept one.
constexpr float kNever = -1e30f;

bool is_kept(const DraftExperts::Kept& kept, const BlobSource& source, int stage, int expert) {
  return kept.empty() || kept[static_cast<size_t>(stage * source.experts() + expert)] != 0;
}

template <typename Taken>
uint64_t sum_of_kept(const BlobSource& source, const DraftExperts::Kept& kept, Taken taken) {
  uint64_t total = 0;
  for (int l = 0; l < source.layers(); ++l) {
    for (int e = 0; e < source.experts(); ++e) {
      if (is_kept(kept, source, l, e)) total += taken(source.layout(l, e).bytes);
    }
  }
  return total;
}

}  // namespace

DraftTally& DraftTally::operator+=(const DraftTally& other) {
  lookups += other.lookups;
  bytes += other.bytes;
  return *this;
}

uint64_t DraftExperts::load_bytes(const BlobSource& source, const Kept& kept) {
  return sum_of_kept(source, kept, [](uint64_t bytes) { return bytes; });
}

uint64_t DraftExperts::memory_bytes(const BlobSource& source, const Kept& kept) {
  return sum_of_kept(source, kept, aligned);
}

DraftExperts::DraftExperts(const BlobSource& source, const ExpertShape& shape, Kept kept)
    : source_(source),
      kept_(std::move(kept)),
      counts_(source.layers(), source.experts()),
      plan_(shape.max_rows, shape.top_k, source.experts()) {
  jobs_.reserve(static_cast<size_t>(source.experts()));
  for (const uint8_t keep : kept_) bias_.push_back(keep != 0 ? 0 : kNever);
}

Result<std::unique_ptr<DraftExperts>> DraftExperts::load(const BlobSource& source,
                                                         ThreadPool& threads,
                                                         const ExpertShape& shape, Kept kept,
                                                         const MakeDeviceTier& device) {
  std::unique_ptr<DraftExperts> all(new DraftExperts(source, shape, std::move(kept)));
  all->bytes_ = memory_bytes(source, all->kept_);
  DeviceTierNeeds needs;
  needs.slots_bytes = all->bytes_;
  needs.layers = source.layers();
  needs.shape = shape;
  ROTA_ASSIGN_OR_RETURN(all->device_, device(needs));
  DeviceTier& tier = *all->device_;
  AlignedBuffer bounce;
  if (tier.computes()) {
    ROTA_ASSIGN_OR_RETURN(bounce, AlignedBuffer::allocate(largest_blob(source)));
  } else {
    ROTA_ASSIGN_OR_RETURN(all->pool_, ExpertPool::create(threads, shape));
  }
  uint64_t offset = 0;
  for (int l = 0; l < source.layers(); ++l) {
    for (int e = 0; e < source.experts(); ++e) {
      all->offsets_.push_back(offset);
      if (!is_kept(all->kept_, source, l, e)) continue;
      const BlobLayout& layout = source.layout(l, e);
      uint8_t* to = tier.computes() ? bounce.data() : tier.slot(offset);
      ROTA_RETURN_IF_ERROR(source.read(l, e, 0, layout.bytes, to));
      if (tier.computes()) ROTA_RETURN_IF_ERROR(tier.fill(offset, to, layout));
      offset += aligned(layout.bytes);
    }
  }
  return all;
}

void DraftExperts::begin_pass(PassKind, int) {}

const float* DraftExperts::selection_bias(int stage) {
  return bias_.empty() ? nullptr : bias_.data() + id(stage, 0);
}

Status DraftExperts::run(int layer, int rows, int top_k, const int* ids, const float* weights,
                         const float* x, float* y) {
  plan_.build(rows, top_k, ids);
  tally_.lookups += plan_.pairs();
  jobs_.clear();
  for (size_t i = 0; i < plan_.distinct().size(); ++i) {
    const int expert = plan_.distinct()[i];
    ROTA_CHECK(is_kept(kept_, source_, layer, expert), "stage", layer, "expert", expert);
    const BlobLayout& layout = source_.layout(layer, expert);
    jobs_.push_back({device_->slot(offsets_[id(layer, expert)]), &layout, i});
    tally_.bytes += static_cast<int64_t>(layout.bytes);
  }
  for (int p = 0; p < rows * top_k; ++p) counts_.add(layer, ids[p]);
  device_->begin({layer, rows, top_k, &plan_, weights, x, pool_ != nullptr});
  if (pool_ == nullptr) {
    device_->compute(jobs_, {});
  } else {
    pool_->begin(plan_, top_k, weights, device_->input());
    pool_->compute(jobs_);
  }
  return device_->finish(pool_.get(), {}, y);
}

DraftTally DraftExperts::take_tally() {
  const DraftTally tally = tally_;
  tally_ = DraftTally();
  return tally;
}

}  // namespace rota
