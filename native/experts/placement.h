// Which expert lives in which tier, and what a layer call changes about it. Owns homes, recency,
// admission windows and the miss split; moves no byte and knows no clock: the same calls always
// give the same answers.
//
// Three tiers, sized in bytes, exclusive: device slots and arena places are filled with a prefix of
// the ranking each (slots first), the rest stays in the file. A slot belongs to one layer and keeps
// the capacity of the blob it was seeded with.
#pragma once

#include <climits>
#include <cstdint>
#include <span>
#include <vector>

#include "experts/counters.h"
#include "experts/dither.h"
#include "experts/miss_split.h"
#include "experts/ranking.h"
#include "model/routed_experts.h"

namespace rota {

enum class Tier : uint8_t { kSlot, kArena, kFile };

struct PlacementOptions {
  uint64_t slots_bytes = 0, arena_bytes = 0;
  int max_slots = INT_MAX, max_arena = INT_MAX;  // experts, where a count is the size
  double pin_share = 0;  // of the slots, from the head of the ranking: their experts never leave
  int lru_window =
      4;  // admit an expert that also missed within the layer's last N calls; 0 = no admission
  double pcie = 0;  // share of a one-row pass's arena-held misses that are copied to the device
  double batch_pcie = 0;  // the same for passes of several rows
  int max_staged = 8;     // at most so many copies a layer call
  // The arena is where all experts lie by themselves: it takes no memory of its own, holds each
  // that has no slot, and a victim is back in it without a byte moved.
  bool in_place = false;
};

struct Place {
  int id = -1;          // layer * experts + expert; -1 = empty
  uint64_t offset = 0;  // in the tier's memory, 64-byte aligned
  uint64_t capacity = 0;
};

struct Slot : Place {
  int layer = 0;
  bool pinned = false;
  int64_t last_use = 0;  // victims are taken from the smallest
  int64_t used_call = -1;
};

// An expert enters a slot. Bytes are to be moved in this order: the victim leaves the slot (to
// victim_place, unless it is dropped), then the expert enters it. When victim_place == from_place
// the two swap.
struct Admission {
  int id = -1;
  int slot = -1;
  int from_place = -1;    // arena place that it leaves; -1 = it was read from the file
  int victim = -1;        // -1 = the slot was empty
  int victim_place = -1;  // -1 = dropped: to the file tier, or back in place
};

class Placement {
 public:
  // blob_bytes[layers * experts].
  Placement(int layers, int experts, std::vector<uint64_t> blob_bytes, const Ranking& ranking,
            const PlacementOptions& options);

  int layers() const { return layers_; }
  int experts() const { return experts_; }
  Tier tier(int layer, int expert) const { return home_[index(layer, expert)].tier; }
  // Index into slots() or arena(); in place, layer * experts + expert; -1 in the file tier.
  int place(int layer, int expert) const { return home_[index(layer, expert)].place; }
  std::span<const Slot> slots() const { return slots_; }
  std::span<const Place> arena() const { return arena_; }
  uint64_t slots_bytes() const;  // capacities
  uint64_t arena_bytes() const;
  uint64_t slots_memory() const { return slots_memory_; }  // with alignment
  uint64_t arena_memory() const { return arena_memory_; }
  int count(Tier tier) const;
  bool needs_file(int layer) const;  // some expert of it is in the file tier
  int pinned() const;                // slots whose experts never leave

  // From here on calls part their arena-held misses by what they cost instead of by a share: passes
  // of one row by `single`, of several by `batch`. Unknown costs leave the share in force.
  void balance(const MissCosts& single, const MissCosts& batch);

  // out[i] = the source of distinct[i] (experts in the order of the router's answer). Of the
  // arena-held misses a share goes over PCIe, from the end of the list; the remainder of the share
  // is carried to the next call. Balanced calls carry nothing.
  void decide(PassKind kind, int rows, int layer, std::span<const int> distinct,
              std::span<Source> out);

  // After decide() of a decode or verify pass: refreshes recency and admits. Prompt passes never
  // come here: they leave the placement alone, so that decode does not depend on how a prompt was
  // cut.
  void admit(int layer, std::span<const int> distinct, std::vector<Admission>& out);

  // The bytes of this slot never arrived: it is empty, its expert is in the file tier.
  void abandon(int slot);

  // out[experts]: +resident for slot-held experts, -file for those that would need a file read, 0
  // for the arena's.
  void bias(int layer, float resident, float file, std::span<float> out) const;

 private:
  struct Home {
    Tier tier = Tier::kFile;
    int place = -1;
  };
  size_t index(int layer, int expert) const {
    return static_cast<size_t>(layer) * static_cast<size_t>(experts_) + static_cast<size_t>(expert);
  }
  int copies(int rows, int misses);
  int find_victim(int layer, uint64_t bytes, int64_t call) const;
  int take_free_place(uint64_t bytes, int preferred);
  Admission enter(int id, int slot, int64_t call);

  int layers_, experts_;
  std::vector<uint64_t> blob_bytes_;
  PlacementOptions options_;
  std::vector<Home> home_;
  std::vector<Slot> slots_;
  std::vector<std::vector<int>> layer_slots_;
  std::vector<Place> arena_;
  std::vector<int> free_places_;
  uint64_t slots_memory_ = 0, arena_memory_ = 0;
  std::vector<int64_t> calls_;      // [layers]
  std::vector<int64_t> last_miss_;  // [layers * experts], call number; -1 = never
  int64_t uses_ = 0;
  Dither single_carry_, batch_carry_;
  MissCosts single_costs_, batch_costs_;
};

}  // namespace rota
