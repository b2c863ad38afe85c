// Homes of experts, per-layer LRU with an admission window, and the dithered miss split.
#include "experts/placement.h"

#include <algorithm>
#include <cmath>

namespace rota {
namespace {

constexpr uint64_t kAlign = 64;
uint64_t aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

template <typename P>
uint64_t total_capacity(const std::vector<P>& places) {
  uint64_t total = 0;
  for (const P& p : places) total += p.capacity;
  return total;
}

}  // namespace

Placement::Placement(int layers, int experts, std::vector<uint64_t> blob_bytes,
                     const Ranking& ranking, const PlacementOptions& options)
    : layers_(layers),
      experts_(experts),
      blob_bytes_(std::move(blob_bytes)),
      options_(options),
      home_(blob_bytes_.size()),
      layer_slots_(static_cast<size_t>(layers)),
      calls_(static_cast<size_t>(layers), 0),
      last_miss_(blob_bytes_.size(), -1) {
  size_t next = 0;
  for (uint64_t left = options_.slots_bytes; next < ranking.size(); ++next) {
    if (slots_.size() == static_cast<size_t>(options_.max_slots)) break;
    const int id = ranking[next];
    const uint64_t bytes = blob_bytes_[static_cast<size_t>(id)];
    if (bytes > left) break;
    left -= bytes;
    Slot slot;
    slot.id = id;
    slot.offset = slots_memory_;
    slot.capacity = bytes;
    slot.layer = id / experts_;
    auto& mine = layer_slots_[static_cast<size_t>(slot.layer)];
    slot.last_use = -static_cast<int64_t>(mine.size()) - 1;  // the coldest of the seeds goes first
    mine.push_back(static_cast<int>(slots_.size()));
    home_[static_cast<size_t>(id)] = {Tier::kSlot, static_cast<int>(slots_.size())};
    slots_memory_ += aligned(bytes);
    slots_.push_back(slot);
  }
  const double pins = options_.pin_share * static_cast<double>(slots_.size());
  for (size_t s = 0; s < static_cast<size_t>(pins + 1e-9); ++s) slots_[s].pinned = true;
  if (options_.in_place) {
    for (; next < ranking.size(); ++next) {
      home_[static_cast<size_t>(ranking[next])] = {Tier::kArena, ranking[next]};
    }
  }
  for (uint64_t left = options_.arena_bytes; next < ranking.size(); ++next) {
    if (arena_.size() == static_cast<size_t>(options_.max_arena)) break;
    const int id = ranking[next];
    const uint64_t bytes = blob_bytes_[static_cast<size_t>(id)];
    if (bytes > left) break;
    left -= bytes;
    home_[static_cast<size_t>(id)] = {Tier::kArena, static_cast<int>(arena_.size())};
    arena_.push_back({id, arena_memory_, bytes});
    arena_memory_ += aligned(bytes);
  }
  free_places_.reserve(arena_.size());
}

uint64_t Placement::slots_bytes() const { return total_capacity(slots_); }
uint64_t Placement::arena_bytes() const {
  if (!options_.in_place) return total_capacity(arena_);
  uint64_t total = 0;
  for (size_t id = 0; id < home_.size(); ++id) {
    if (home_[id].tier == Tier::kArena) total += blob_bytes_[id];
  }
  return total;
}

int Placement::count(Tier tier) const {
  return static_cast<int>(std::count_if(home_.begin(), home_.end(),
                                        [tier](const Home& home) { return home.tier == tier; }));
}

int Placement::pinned() const {
  return static_cast<int>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.pinned; }));
}

void Placement::balance(const MissCosts& single, const MissCosts& batch) {
  single_costs_ = single;
  batch_costs_ = batch;
}

void Placement::decide(PassKind kind, int rows, int layer, std::span<const int> distinct,
                       std::span<Source> out) {
  int eligible = 0;
  for (size_t i = 0; i < distinct.size(); ++i) {
    switch (tier(layer, distinct[i])) {
      case Tier::kSlot:
        out[i] = Source::kHit;
        break;
      case Tier::kArena:
        out[i] = Source::kCpu;
        ++eligible;
        break;
      case Tier::kFile:
        out[i] = Source::kFile;
        break;
    }
  }
  if (kind == PassKind::kPrefill || eligible == 0) return;
  const int take = std::min(copies(rows, eligible), options_.max_staged);
  for (size_t i = distinct.size(), left = static_cast<size_t>(take); i-- > 0 && left > 0;) {
    if (out[i] != Source::kCpu) continue;
    out[i] = Source::kPcie;
    --left;
  }
}

int Placement::copies(int rows, int misses) {
  const MissCosts& costs = rows == 1 ? single_costs_ : batch_costs_;
  if (costs.known()) return balanced_copies(misses, costs);
  const double share = rows == 1 ? options_.pcie : options_.batch_pcie;
  return (rows == 1 ? single_carry_ : batch_carry_).take(share * misses);
}

void Placement::admit(int layer, std::span<const int> distinct, std::vector<Admission>& out) {
  out.clear();
  const int64_t call = ++calls_[static_cast<size_t>(layer)];
  for (const int e : distinct) {
    const Home home = home_[index(layer, e)];
    if (home.tier != Tier::kSlot) continue;
    Slot& slot = slots_[static_cast<size_t>(home.place)];
    slot.last_use = ++uses_;
    slot.used_call = call;
  }
  for (const int e : distinct) {
    const size_t id = index(layer, e);
    if (home_[id].tier == Tier::kSlot) continue;
    const int64_t before = last_miss_[id];
    last_miss_[id] = call;
    if (before < 0 || call - before > options_.lru_window) continue;
    const int victim = find_victim(layer, blob_bytes_[id], call);
    if (victim >= 0) out.push_back(enter(static_cast<int>(id), victim, call));
  }
}

int Placement::find_victim(int layer, uint64_t bytes, int64_t call) const {
  int best = -1;
  for (const int s : layer_slots_[static_cast<size_t>(layer)]) {
    const Slot& slot = slots_[static_cast<size_t>(s)];
    if (slot.pinned || slot.used_call == call || slot.capacity < bytes) continue;
    if (best < 0 || slot.last_use < slots_[static_cast<size_t>(best)].last_use) best = s;
  }
  return best;
}

// The preferred place when the bytes fit it, else the tightest free one, the first of equals; -1 =
// none.
int Placement::take_free_place(uint64_t bytes, int preferred) {
  auto best = free_places_.end();
  for (auto it = free_places_.begin(); it != free_places_.end(); ++it) {
    const uint64_t capacity = arena_[static_cast<size_t>(*it)].capacity;
    if (capacity < bytes) continue;
    if (*it == preferred) {
      best = it;
      break;
    }
    if (best == free_places_.end() || capacity < arena_[static_cast<size_t>(*best)].capacity) {
      best = it;
    }
  }
  if (best == free_places_.end()) return -1;
  const int place = *best;
  free_places_.erase(best);
  return place;
}

Admission Placement::enter(int id, int slot_index, int64_t call) {
  Slot& slot = slots_[static_cast<size_t>(slot_index)];
  Home& home = home_[static_cast<size_t>(id)];
  Admission move;
  move.id = id;
  move.slot = slot_index;
  move.victim = slot.id;
  if (home.tier == Tier::kArena) {
    move.from_place = home.place;
    if (!options_.in_place) {
      arena_[static_cast<size_t>(home.place)].id = -1;
      free_places_.push_back(home.place);
    }
  }
  if (move.victim >= 0 && options_.in_place) {
    home_[static_cast<size_t>(move.victim)] = {Tier::kArena, move.victim};
  } else if (move.victim >= 0) {
    move.victim_place =
        take_free_place(blob_bytes_[static_cast<size_t>(move.victim)], move.from_place);
    Home& victim = home_[static_cast<size_t>(move.victim)];
    victim = {move.victim_place >= 0 ? Tier::kArena : Tier::kFile, move.victim_place};
    if (move.victim_place >= 0) arena_[static_cast<size_t>(move.victim_place)].id = move.victim;
  }
  home = {Tier::kSlot, slot_index};
  slot.id = id;
  slot.last_use = ++uses_;
  slot.used_call = call;
  return move;
}

void Placement::abandon(int slot_index) {
  Slot& slot = slots_[static_cast<size_t>(slot_index)];
  if (slot.id >= 0) home_[static_cast<size_t>(slot.id)] = {Tier::kFile, -1};
  slot.id = -1;
  slot.last_use = INT64_MIN;
}

bool Placement::needs_file(int layer) const {
  const auto first = home_.begin() + static_cast<std::ptrdiff_t>(index(layer, 0));
  return std::any_of(first, first + experts_, [](Home home) { return home.tier == Tier::kFile; });
}

void Placement::bias(int layer, float resident, float file, std::span<float> out) const {
  for (int e = 0; e < experts_; ++e) {
    const Tier t = tier(layer, e);
    out[static_cast<size_t>(e)] = t == Tier::kSlot ? resident : t == Tier::kFile ? -file : 0.0f;
  }
}

}  // namespace rota
