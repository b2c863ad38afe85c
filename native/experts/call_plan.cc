// Grouping of a router's answer by distinct expert: a counting sort that keeps the order of first
// appearance.
#include "experts/call_plan.h"

#include "base/check.h"

namespace rota {

CallPlan::CallPlan(int max_rows, int top_k, int experts)
    : max_pairs_(max_rows * top_k), slot_of_(static_cast<size_t>(experts), -1) {
  distinct_.reserve(static_cast<size_t>(experts));
  begin_.reserve(static_cast<size_t>(experts) + 1);
  order_.resize(static_cast<size_t>(max_pairs_));
}

void CallPlan::build(int rows, int top_k, const int* ids, std::span<const uint8_t> dropped) {
  const int all = rows * top_k;
  ROTA_CHECK(all <= max_pairs_, "rows", rows, "top_k", top_k, "room for", max_pairs_);
  dropped_ = dropped;
  for (const int e : distinct_) slot_of_[static_cast<size_t>(e)] = -1;
  distinct_.clear();
  begin_.clear();
  for (int p = 0; p < all; ++p) {
    ROTA_CHECK(ids[p] >= 0 && static_cast<size_t>(ids[p]) < slot_of_.size(), "expert", ids[p]);
    if (this->dropped(p)) continue;
    int& slot = slot_of_[static_cast<size_t>(ids[p])];
    if (slot < 0) {
      slot = static_cast<int>(distinct_.size());
      distinct_.push_back(ids[p]);
      begin_.push_back(0);
    }
    ++begin_[static_cast<size_t>(slot)];
  }
  int next = 0;
  for (int& begin : begin_) {
    const int count = begin;
    begin = next;
    next += count;
  }
  begin_.push_back(next);
  pairs_ = next;
  for (int p = 0; p < all; ++p) {
    if (this->dropped(p)) continue;
    const auto slot = static_cast<size_t>(slot_of_[static_cast<size_t>(ids[p])]);
    order_[static_cast<size_t>(begin_[slot]++)] = p;
  }
  // The fill moved every begin to its end, which is the next one's begin.
  for (size_t i = distinct_.size(); i > 0; --i) begin_[i] = begin_[i - 1];
  begin_[0] = 0;
}

}  // namespace rota
