// Filling the tiers: allocation, the parallel read of slots and arena, and the way back to that
// state.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "experts/tiered_experts.h"

namespace rota {
namespace {

Placement make_placement(const BlobSource& source, const TieredOptions& options) {
  std::vector<uint64_t> bytes;
  for (int l = 0; l < source.layers(); ++l) {
    for (int e = 0; e < source.experts(); ++e) bytes.push_back(source.layout(l, e).bytes);
  }
  const Ranking ranking =
      options.ranking.empty() ? index_ranking(source.layers(), source.experts()) : options.ranking;
  return Placement(source.layers(), source.experts(), std::move(bytes), ranking, options.placement);
}

// A file tier that is empty and stays empty needs no threads and no buffers. It can fill: an
// admission drops a victim that is larger than every free arena place.
FileStage::Options stage_options(const Placement& placement, const TieredOptions& options,
                                 uint64_t max_blob) {
  FileStage::Options stage;
  const bool swaps = options.placement.lru_window > 0 && !placement.slots().empty();
  const bool any = placement.count(Tier::kFile) > 0 || (swaps && !placement.arena().empty());
  stage.readers = any ? options.file_readers : 1;
  stage.demand = any ? std::max(8, 2 * options.file_readers) : 1;
  stage.prefetch = any ? static_cast<int>(std::ceil(options.prefetch)) : 0;
  stage.max_blob = max_blob;
  return stage;
}

// Copies to the device need a place there; without a share of misses that is copied there are none.
uint64_t staged_blobs(const TieredOptions& options) {
  const bool any = options.placement.pcie > 0 || options.placement.batch_pcie > 0 ||
                   options.balance_pcie || options.balance_batch_pcie;
  return any ? static_cast<uint64_t>(options.placement.max_staged) : 0;
}

}  // namespace

TieredExperts::Memory TieredExperts::memory_parts(const BlobSource& source,
                                                  const ExpertShape& shape,
                                                  const TieredOptions& options) {
  const Placement placement = make_placement(source, options);
  const uint64_t max_blob = largest_blob(source);
  const FileStage::Options stage = stage_options(placement, options, max_blob);
  Memory memory;
  memory.slots = placement.slots_memory();
  memory.staged = max_blob * (staged_blobs(options) + 1);  // a victim on its way
  memory.arena = placement.arena_memory();
  memory.files = max_blob * static_cast<uint64_t>(stage.demand + 2 * stage.prefetch);
  memory.pool = ExpertPool::scratch_bytes(shape);
  return memory;
}

uint64_t TieredExperts::memory_bytes(const BlobSource& source, const ExpertShape& shape,
                                     const TieredOptions& options) {
  const Memory memory = memory_parts(source, shape, options);
  return memory.slots + memory.staged + memory.arena + memory.files + memory.pool;
}

uint64_t TieredExperts::load_bytes(const BlobSource& source, const TieredOptions& options) {
  const Placement placement = make_placement(source, options);
  return placement.slots_bytes() + (options.placement.in_place ? 0 : placement.arena_bytes());
}

TieredExperts::TieredExperts(const BlobSource& source, const ExpertShape& shape,
                             const TieredOptions& options, Placement placement)
    : source_(source),
      shape_(shape),
      options_(options),
      placement_(placement),
      initial_(std::move(placement)),
      bias_(static_cast<size_t>(source.experts())),
      plan_(shape.max_rows, shape.top_k, source.experts()),
      skipper_(options.skip, shape.max_rows, shape.top_k),
      hinted_(static_cast<size_t>(source.experts())) {
  const auto experts = static_cast<size_t>(source.experts());
  sources_.reserve(experts);
  held_.reserve(experts);
  admissions_.reserve(experts);
  jobs_.reserve(experts);
  hit_jobs_.reserve(experts);
  copied_jobs_.reserve(experts);
  pooled_.reserve(experts);
  file_experts_.reserve(experts);
  file_distinct_.reserve(experts);
  late_.reserve(experts);
}

Result<std::unique_ptr<TieredExperts>> TieredExperts::load(
    const BlobSource& source, ThreadPool& threads, const ExpertShape& shape,
    const TieredOptions& options, const LoadProgress& progress, const MakeDeviceTier& device) {
  std::unique_ptr<TieredExperts> tiers(
      new TieredExperts(source, shape, options, make_placement(source, options)));
  const Placement& placement = tiers->placement_;
  tiers->max_blob_ = largest_blob(source);
  ROTA_ASSIGN_OR_RETURN(tiers->arena_,
                        AlignedBuffer::allocate(placement.arena_memory(), 4096, true));
  ROTA_ASSIGN_OR_RETURN(tiers->pool_, ExpertPool::create(threads, shape));
  ROTA_ASSIGN_OR_RETURN(tiers->stage_, FileStage::create(source, stage_options(placement, options,
                                                                               tiers->max_blob_)));
  tiers->lock_arena();
  DeviceTierNeeds needs;
  needs.slots_bytes = placement.slots_memory();
  needs.staged_blobs = staged_blobs(options);
  needs.max_blob = needs.victim_bytes = tiers->max_blob_;
  needs.layers = source.layers();
  needs.shape = shape;
  needs.arena = tiers->arena_memory();
  ROTA_ASSIGN_OR_RETURN(tiers->device_, device(needs));
  std::vector<Load> loads;
  for (const Slot& slot : placement.slots()) loads.push_back({slot.id, true, slot.offset});
  for (const Place& place : placement.arena()) loads.push_back({place.id, false, place.offset});
  ROTA_RETURN_IF_ERROR(tiers->load_blobs(loads, progress));
  tiers->intact_ = true;
  ROTA_RETURN_IF_ERROR(tiers->choose_split());
  return tiers;
}

std::vector<std::span<const uint8_t>> TieredExperts::arena_memory() const {
  if (in_place()) return source_.in_place_memory();
  if (placement_.arena_memory() == 0) return {};
  return {{arena_.data(), placement_.arena_memory()}};
}

std::vector<std::span<const uint8_t>> TieredExperts::memory() const {
  std::vector<std::span<const uint8_t>> memory = arena_memory();
  memory.push_back(device_->ram());
  return memory;
}

// In place this is what maps every page, too.
void TieredExperts::lock_arena() {
  for (const auto& part : arena_memory()) {
    if (mlock(part.data(), part.size()) == 0) continue;
    arena_unlocked_ = std::string("mlock: ") + std::strerror(errno);
  }
}

// From where the experts lie by themselves.
Status TieredExperts::fill_slots(const std::vector<Load>& loads, const LoadProgress& progress) {
  uint64_t bytes = 0;
  for (const Load& load : loads) {
    const int layer = load.id / placement_.experts(), expert = load.id % placement_.experts();
    const BlobLayout& layout = source_.layout(layer, expert);
    ROTA_RETURN_IF_ERROR(device_->fill(load.offset, source_.in_place(layer, expert), layout));
    bytes += layout.bytes;
    if (progress && !progress(bytes)) return Status(Code::kCancelled, "the load was stopped");
  }
  return Status();
}

Status TieredExperts::load_blobs(const std::vector<Load>& loads, const LoadProgress& progress) {
  if (in_place()) return fill_slots(loads, progress);
  // Enough open reads that no thread waits for the next; the window is closed in order.
  const int readers = std::max(1, options_.file_readers);
  const size_t window = static_cast<size_t>(readers) * 2;
  std::vector<int> tickets(loads.size());
  size_t closed = 0;
  uint64_t bytes = 0;
  // Slots of a device of its own are filled from these.
  std::vector<AlignedBuffer> bounce(device_->computes() ? window : 0);
  for (AlignedBuffer& buffer : bounce) {
    ROTA_ASSIGN_OR_RETURN(buffer, AlignedBuffer::allocate(max_blob_));
  }
  const auto bounced = [&](size_t i) { return loads[i].into_slot && !bounce.empty(); };
  const auto target = [&](size_t i) {
    if (bounced(i)) return bounce[i % window].data();
    return loads[i].into_slot ? device_->slot(loads[i].offset) : arena_.data() + loads[i].offset;
  };
  // Declared last: on an error its threads end before anything they write to is gone.
  BlobReader reader(source_, readers, static_cast<int>(window));
  ROTA_RETURN_IF_ERROR(reader.prepared());
  const auto close_one = [&]() -> Status {
    const size_t i = closed++;
    ROTA_RETURN_IF_ERROR(reader.wait(tickets[i]));
    const int id = loads[i].id;
    const BlobLayout& layout = source_.layout(id / placement_.experts(), id % placement_.experts());
    if (bounced(i)) ROTA_RETURN_IF_ERROR(device_->fill(loads[i].offset, target(i), layout));
    bytes += layout.bytes;
    if (progress && !progress(bytes)) return Status(Code::kCancelled, "the load was stopped");
    return Status();
  };
  for (size_t i = 0; i < loads.size(); ++i) {
    if (i - closed == window) ROTA_RETURN_IF_ERROR(close_one());
    const int id = loads[i].id;
    tickets[i] = reader.submit(id / placement_.experts(), id % placement_.experts(), target(i),
                               BlobReader::Priority::kDemand);
  }
  while (closed < loads.size()) ROTA_RETURN_IF_ERROR(close_one());
  return Status();
}

// After a reset that failed half-way nothing in memory is believed: the next one reads everything.
Status TieredExperts::reset() {
  PrefetchTally forgotten;
  stage_->forget_prefetches(forgotten);
  const auto stale = [this](int now, int then) { return !intact_ || now != then; };
  std::vector<Load> loads;
  for (size_t s = 0; s < initial_.slots().size(); ++s) {
    const Slot& slot = initial_.slots()[s];
    if (stale(placement_.slots()[s].id, slot.id)) {
      loads.push_back({slot.id, true, slot.offset});
    }
  }
  for (size_t a = 0; a < initial_.arena().size(); ++a) {
    const Place& place = initial_.arena()[a];
    if (stale(placement_.arena()[a].id, place.id)) {
      loads.push_back({place.id, false, place.offset});
    }
  }
  intact_ = false;
  ROTA_RETURN_IF_ERROR(device_->settle().with_context("reset"));
  ROTA_RETURN_IF_ERROR(load_blobs(loads, nullptr).with_context("reset"));
  intact_ = true;
  placement_ = initial_;
  prefetch_carry_ = Dither();
  tally_ = ExpertTally();
  return Status();
}

}  // namespace rota
