// Homes, admission and the miss split, on blobs that are only sizes.
#include "experts/placement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace rota {
namespace {

PlacementOptions sized(uint64_t slots, uint64_t arena) {
  PlacementOptions options;
  options.slots_bytes = slots;
  options.arena_bytes = arena;
  return options;
}

Placement uniform(int layers, int experts, const PlacementOptions& options, uint64_t bytes = 100) {
  return Placement(layers, experts,
                   std::vector<uint64_t>(static_cast<size_t>(layers * experts), bytes),
                   index_ranking(layers, experts), options);
}

std::vector<Source> decide(Placement& p, int rows, const std::vector<int>& distinct, int layer = 0,
                           PassKind kind = PassKind::kDecode) {
  std::vector<Source> out(distinct.size());
  p.decide(kind, rows, layer, distinct, out);
  return out;
}

std::vector<Admission> admit(Placement& p, const std::vector<int>& distinct, int layer = 0) {
  std::vector<Admission> out;
  p.admit(layer, distinct, out);
  return out;
}

int64_t count(const std::vector<Source>& sources, Source s) {
  return std::count(sources.begin(), sources.end(), s);
}

}  // namespace

TEST_CASE("slots and arena are seeded with prefixes of the ranking, in bytes") {
  const Placement p = uniform(2, 4, sized(350, 299));
  CHECK(p.count(Tier::kSlot) == 3);
  CHECK(p.count(Tier::kArena) == 2);
  CHECK(p.count(Tier::kFile) == 3);
  CHECK(p.slots_bytes() == 300);
  CHECK(p.arena_bytes() == 200);
  CHECK(p.slots_memory() == 3 * 128);
  CHECK(p.tier(0, 0) == Tier::kSlot);
  CHECK(p.tier(1, 0) == Tier::kSlot);
  CHECK(p.tier(0, 1) == Tier::kSlot);
  CHECK(p.tier(1, 1) == Tier::kArena);
  CHECK(p.tier(0, 2) == Tier::kArena);
  CHECK(p.tier(1, 2) == Tier::kFile);
}

TEST_CASE("an expert enters a slot only at its second miss within the window") {
  PlacementOptions options = sized(200, 1000);
  options.lru_window = 2;
  Placement p = uniform(1, 8, options);
  CHECK(admit(p, {0, 5}).empty());  // call 1: first miss of 5
  CHECK(admit(p, {0, 1}).empty());
  CHECK(admit(p, {0, 1}).empty());
  CHECK(admit(p, {0, 5}).empty());  // call 4: 3 calls ago, outside
  CHECK(admit(p, {0, 1}).empty());
  const auto moves = admit(p, {0, 5});  // call 6: 2 calls ago
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].id == 5);
  CHECK(moves[0].victim == 1);
  CHECK(moves[0].victim_place == moves[0].from_place);
  CHECK(p.tier(0, 5) == Tier::kSlot);
  CHECK(p.tier(0, 1) == Tier::kArena);
}

TEST_CASE(
    "in place no expert is ever in the file tier, and slots change as beside a copied arena") {
  PlacementOptions copied = sized(600, 100000), in_place = sized(600, 0);
  in_place.in_place = true;
  Placement a = uniform(2, 12, copied), b = uniform(2, 12, in_place);
  CHECK(b.arena_memory() == 0);
  CHECK(b.arena_bytes() == 18 * 100);
  std::mt19937 random(3);
  int moved = 0;
  for (int call = 0; call < 400; ++call) {
    const int layer = call % 2;
    std::vector<int> distinct;
    for (int e = 0; e < 12; ++e) {
      if (random() % 4 == 0) distinct.push_back(e);
    }
    CHECK(decide(a, 1, distinct, layer) == decide(b, 1, distinct, layer));
    const auto from_copied = admit(a, distinct, layer), from_place = admit(b, distinct, layer);
    REQUIRE(from_copied.size() == from_place.size());
    for (size_t i = 0; i < from_place.size(); ++i, ++moved) {
      CHECK(from_place[i].id == from_copied[i].id);
      CHECK(from_place[i].slot == from_copied[i].slot);
      CHECK(from_place[i].victim == from_copied[i].victim);
      CHECK(from_place[i].from_place == from_place[i].id);
      CHECK(from_place[i].victim_place == -1);
    }
    CHECK(b.count(Tier::kFile) == 0);
    CHECK(b.count(Tier::kSlot) == 6);
  }
  CHECK(moved > 50);
}

TEST_CASE("window 0 keeps the placement as it was seeded") {
  PlacementOptions options = sized(200, 1000);
  options.lru_window = 0;
  Placement p = uniform(1, 8, options);
  for (int i = 0; i < 10; ++i) CHECK(admit(p, {5, 6}).empty());
}

TEST_CASE("the victim is the least recently used of the layer, never one of this call") {
  Placement p = uniform(2, 8, sized(600, 2000));  // 3 slots a layer
  CHECK(admit(p, {6}).empty());
  SUBCASE("the coldest seed goes first") { CHECK(admit(p, {6})[0].victim == 2); }
  SUBCASE("use refreshes") {
    CHECK(admit(p, {2}).empty());
    CHECK(admit(p, {6})[0].victim == 1);
  }
  SUBCASE("what this call uses stays") { CHECK(admit(p, {2, 1, 6})[0].victim == 0); }
  SUBCASE("no victim, no admission") { CHECK(admit(p, {2, 1, 0, 6}).empty()); }
  SUBCASE("another layer's calls and slots do not matter") {
    for (int i = 0; i < 9; ++i) CHECK(admit(p, {0}, 1).empty());
    CHECK(admit(p, {6})[0].victim == 2);
  }
}

TEST_CASE("two experts admitted in one call take two slots") {
  Placement p = uniform(1, 8, sized(300, 500));
  CHECK(admit(p, {5, 6}).empty());
  const auto moves = admit(p, {5, 6});
  REQUIRE(moves.size() == 2);
  CHECK(moves[0].slot != moves[1].slot);
}

TEST_CASE("a small slot cannot take a large expert; a large victim may be dropped to the file") {
  // sizes of experts 0..5; slots seeded with 0 (50) and 1 (200), arena 2 (60), 3 (150); file 4
  // (200), 5 (40)
  Placement p(1, 6, {50, 200, 60, 150, 200, 40}, index_ranking(1, 6), sized(250, 210));
  CHECK(admit(p, {2, 3}).empty());
  const auto moves = admit(p, {2, 3});
  // 2 (60) and 3 (150) both need the slot of 200; the second finds no victim.
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].id == 2);
  CHECK(moves[0].victim == 1);
  CHECK(moves[0].victim_place == -1);  // 200 bytes do not fit the place of 60
  CHECK(p.tier(0, 1) == Tier::kFile);
  // 5 (40, from the file) pushes 0 (50) out of its slot: the place of 60 is free and takes it.
  CHECK(admit(p, {5, 2}).empty());
  const auto more = admit(p, {5, 2});
  REQUIRE(more.size() == 1);
  CHECK(more[0].from_place == -1);
  CHECK(more[0].victim == 0);
  CHECK(p.tier(0, 0) == Tier::kArena);
}

TEST_CASE("the miss split is a dithered share of the arena-held misses, from the end of the list") {
  PlacementOptions options = sized(100, 600);
  options.pcie = 0.25;
  options.batch_pcie = 0.5;
  Placement p = uniform(1, 10, options);  // 0 slot; 1..6 arena; 7..9 file
  const auto sources = decide(p, 1, {1, 0, 2, 7, 3, 4});
  CHECK(sources == std::vector<Source>{Source::kCpu, Source::kHit, Source::kCpu, Source::kFile,
                                       Source::kCpu, Source::kPcie});
  int64_t copied = 0;
  for (int i = 0; i < 100; ++i) copied += count(decide(p, 1, {1, 2, 8}), Source::kPcie);
  CHECK(copied == 50);
  CHECK(count(decide(p, 4, {1, 2, 3}), Source::kPcie) == 1);  // 1.5
  CHECK(count(decide(p, 4, {1, 2, 3}), Source::kPcie) == 2);  // and the carry
  CHECK(count(decide(p, 9, {1, 2, 3, 4}, 0, PassKind::kPrefill), Source::kPcie) == 0);
}

TEST_CASE("share 1 copies every arena-held miss up to the staging limit") {
  PlacementOptions options = sized(0, 10000);
  options.pcie = 1;
  options.max_staged = 3;
  Placement p = uniform(1, 10, options);
  CHECK(count(decide(p, 1, {1, 2, 3, 4, 5}), Source::kPcie) == 3);
  CHECK(count(decide(p, 1, {1}), Source::kPcie) == 1);
}

TEST_CASE("a count is a size too, and the smaller of both holds") {
  PlacementOptions options = sized(UINT64_MAX, UINT64_MAX);
  options.max_slots = 3;
  options.max_arena = 2;
  Placement p = uniform(2, 4, options);
  CHECK(p.count(Tier::kSlot) == 3);
  CHECK(p.count(Tier::kArena) == 2);
  CHECK(p.count(Tier::kFile) == 3);
  CHECK(p.slots_bytes() == 300);
  options.slots_bytes = 250;
  CHECK(uniform(2, 4, options).count(Tier::kSlot) == 2);
}

TEST_CASE("pinned slots are the head of the ranking and are never victims") {
  PlacementOptions options = sized(300, 500);
  options.pin_share = 0.67;
  Placement p = uniform(1, 8, options);
  CHECK(p.pinned() == 2);
  CHECK(admit(p, {5, 6}).empty());
  const auto moves = admit(p, {5, 6});
  REQUIRE(moves.size() == 1);  // one slot may change
  CHECK(moves[0].victim == 2);
  for (int i = 0; i < 6; ++i) admit(p, {3 + i % 2, 7});
  CHECK(p.tier(0, 0) == Tier::kSlot);
  CHECK(p.tier(0, 1) == Tier::kSlot);
  options.pin_share = 1;
  Placement all = uniform(1, 8, options);
  CHECK(all.pinned() == 3);
  for (int i = 0; i < 6; ++i) CHECK(admit(all, {5, 6}).empty());
}

TEST_CASE("calls with known costs are balanced, each kind by its own; unknown ones share") {
  PlacementOptions options = sized(0, 10000);
  options.batch_pcie = 0.25;
  Placement p = uniform(1, 10, options);
  p.balance({1, 1}, {});
  CHECK(count(decide(p, 1, {1, 2, 3, 4}), Source::kPcie) == 2);
  CHECK(count(decide(p, 2, {1, 2, 3, 4}), Source::kPcie) == 1);
  p.balance({}, {1, 3});
  CHECK(count(decide(p, 1, {1, 2, 3, 4}), Source::kPcie) == 0);
  CHECK(count(decide(p, 2, {1, 2, 3, 4}), Source::kPcie) == 3);
  CHECK(count(decide(p, 2, {1, 2, 3, 4}, 0, PassKind::kPrefill), Source::kPcie) == 0);
}

TEST_CASE("bias raises residents and lowers what would need a file read") {
  const Placement p = uniform(1, 3, sized(100, 100));
  std::vector<float> bias(3);
  p.bias(0, 0.5f, 0.25f, bias);
  CHECK(bias == std::vector<float>{0.5f, 0.0f, -0.25f});
}

TEST_CASE("an abandoned slot is empty, the next victim, and its expert in the file") {
  Placement p = uniform(1, 8, sized(300, 300));
  p.abandon(1);
  CHECK(p.tier(0, 1) == Tier::kFile);
  CHECK(admit(p, {7}).empty());
  const auto moves = admit(p, {7});
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].slot == 1);
  CHECK(moves[0].victim == -1);
}

TEST_CASE("after any calls every expert has one home that it fits, and the same calls repeat") {
  std::mt19937 rng(7);
  for (int round = 0; round < 40; ++round) {
    const int layers = 1 + static_cast<int>(rng() % 3), experts = 4 + static_cast<int>(rng() % 20);
    std::vector<uint64_t> bytes;
    for (int i = 0; i < layers * experts; ++i) bytes.push_back(10 + rng() % 3 * 25);
    PlacementOptions options = sized(rng() % 1000, rng() % 1000);
    options.lru_window = static_cast<int>(rng() % 5);
    options.pcie = 0.3;
    options.pin_share = static_cast<double>(rng() % 3) / 2;
    Placement p(layers, experts, bytes, index_ranking(layers, experts), options);
    Placement twin = p;
    for (int call = 0; call < 200; ++call) {
      const int layer = static_cast<int>(rng() % static_cast<unsigned>(layers));
      std::vector<int> all(static_cast<size_t>(experts));
      for (int e = 0; e < experts; ++e) all[static_cast<size_t>(e)] = e;
      std::shuffle(all.begin(), all.end(), rng);
      all.resize(1 + rng() % 4);
      CHECK(decide(p, 1, all, layer) == decide(twin, 1, all, layer));
      const auto moves = admit(p, all, layer);
      CHECK(moves.size() == admit(twin, all, layer).size());
    }
    int homes = 0;
    for (size_t s = 0; s < p.slots().size(); ++s) {
      const Slot& slot = p.slots()[s];
      REQUIRE(slot.id >= 0);
      CHECK(slot.id / experts == slot.layer);
      CHECK(bytes[static_cast<size_t>(slot.id)] <= slot.capacity);
      CHECK(p.place(slot.layer, slot.id % experts) == static_cast<int>(s));
      ++homes;
    }
    for (size_t a = 0; a < p.arena().size(); ++a) {
      const Place& place = p.arena()[a];
      if (place.id < 0) continue;
      CHECK(bytes[static_cast<size_t>(place.id)] <= place.capacity);
      CHECK(p.place(place.id / experts, place.id % experts) == static_cast<int>(a));
      CHECK(p.tier(place.id / experts, place.id % experts) == Tier::kArena);
      ++homes;
    }
    CHECK(homes + p.count(Tier::kFile) == layers * experts);
  }
}

}  // namespace rota
