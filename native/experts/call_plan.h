// One layer call, seen by distinct expert: who wants it and with which weight. Owns the grouping;
// knows no tier.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rota {

// A pair is one (row, k) of the router's answer, numbered row * top_k + k.
class CallPlan {
 public:
  CallPlan(int max_rows, int top_k, int experts);

  // ids[rows, top_k]. dropped[rows, top_k], or empty: pairs marked 1 belong to no expert; it stays
  // valid until the next build. Fails only by ROTA_CHECK: sizes were fixed at load.
  void build(int rows, int top_k, const int* ids, std::span<const uint8_t> dropped = {});

  int pairs() const { return pairs_; }  // without the dropped ones
  bool dropped(int pair) const {
    return !dropped_.empty() && dropped_[static_cast<size_t>(pair)] != 0;
  }
  // Experts in order of first appearance, each once.
  std::span<const int> distinct() const { return distinct_; }
  // Pairs that chose distinct()[i], ascending.
  std::span<const int> pairs_of(size_t i) const {
    return {order_.data() + begin_[i], static_cast<size_t>(begin_[i + 1] - begin_[i])};
  }
  int begin_of(size_t i) const { return begin_[i]; }
  // All these pairs, grouped by distinct expert.
  std::span<const int> order() const { return {order_.data(), static_cast<size_t>(pairs_)}; }

 private:
  int max_pairs_, pairs_ = 0;
  std::span<const uint8_t> dropped_;
  std::vector<int> distinct_;
  std::vector<int> slot_of_;  // [experts]: index into distinct_, -1 between calls
  std::vector<int> begin_;    // [distinct + 1]
  std::vector<int> order_;    // [pairs]
};

}  // namespace rota
