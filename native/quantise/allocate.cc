// The relaxation at one lambda, the bisection, and the greedy end.
#include "quantise/allocate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace rota {
namespace {

constexpr int kBisections = 100;

class Allocator {
 public:
  Allocator(const std::vector<Candidate>& experts, const AllocationRules& rules)
      : experts_(experts), rules_(rules) {
    for (size_t e = 0; e < experts.size(); ++e) layers_[experts[e].layer].push_back(e);
    budget_ = experts.size() * at(rules.bytes, rules.default_format);
  }

  Allocation run() {
    // At lambda 0 every expert takes what costs least; if that fits there is nothing to trade.
    std::vector<int> best = choose(0);
    double low = 0, high = 0;
    if (bytes_of(best) > budget_) {
      high = largest_worth();
      for (int i = 0; i < kBisections; ++i) {
        const double middle = (low + high) / 2;
        (bytes_of(choose(middle)) > budget_ ? low : high) = middle;
      }
      best = choose(high);
    }
    Allocation out;
    out.lambda = high;
    out.bound =
        cost_of(best) + high * (static_cast<double>(bytes_of(best)) - static_cast<double>(budget_));
    spend_rest(best);
    out.format = std::move(best);
    out.bytes = bytes_of(out.format);
    out.budget = budget_;
    out.cost = cost_of(out.format);
    return out;
  }

 private:
  template <typename T>
  static T at(const std::vector<T>& values, int index) {
    return values[static_cast<size_t>(index)];
  }
  int formats() const { return static_cast<int>(rules_.bytes.size()); }
  double cost(size_t expert, int format) const { return at(experts_[expert].cost, format); }

  uint64_t bytes_of(const std::vector<int>& choice) const {
    uint64_t sum = 0;
    for (const int format : choice) sum += at(rules_.bytes, format);
    return sum;
  }
  double cost_of(const std::vector<int>& choice) const {
    double sum = 0;
    for (size_t e = 0; e < choice.size(); ++e) sum += cost(e, choice[e]);
    return sum;
  }

  // Dearer than any byte can be worth: there, all take their smallest format.
  double largest_worth() const {
    double most = 0;
    for (const Candidate& expert : experts_) {
      const auto [least, dearest] = std::minmax_element(expert.cost.begin(), expert.cost.end());
      most = std::max(most, *dearest - *least);
    }
    return 2 * most + 1;  // a byte is the smallest step between two formats
  }

  // The cheapest of cost + lambda * bytes, without the capped format where `without` says so.
  std::pair<double, int> cheapest(size_t expert, double lambda, bool without) const {
    std::pair<double, int> best = {std::numeric_limits<double>::infinity(), -1};
    for (int f = 0; f < formats(); ++f) {
      if (experts_[expert].locked && f != rules_.default_format) continue;
      if (without && f == rules_.capped_format) continue;
      const double price = cost(expert, f) + lambda * static_cast<double>(at(rules_.bytes, f));
      if (price < best.first) best = {price, f};
    }
    return best;
  }

  size_t cap_of(const std::vector<size_t>& layer) const {
    return static_cast<size_t>(std::floor(rules_.cap * static_cast<double>(layer.size())));
  }

  std::vector<int> choose(double lambda) const {
    std::vector<int> choice(experts_.size());
    for (const auto& [layer, members] : layers_) {
      // What the capped format saves each expert that wants it; those with least go without.
      std::vector<std::pair<double, size_t>> wanting;
      for (const size_t e : members) {
        const auto [price, format] = cheapest(e, lambda, false);
        choice[e] = format;
        if (format == rules_.capped_format && !experts_[e].locked) {
          wanting.emplace_back(cheapest(e, lambda, true).first - price, e);
        }
      }
      std::sort(wanting.begin(), wanting.end());
      const size_t most = cap_of(members);
      for (size_t i = 0; i + most < wanting.size(); ++i) {
        choice[wanting[i].second] = cheapest(wanting[i].second, lambda, true).second;
      }
    }
    return choice;
  }

  bool allowed(const std::vector<int>& choice, size_t expert, int format) const {
    if (experts_[expert].locked) return false;
    if (format != rules_.capped_format) return true;
    const std::vector<size_t>& members = layers_.at(experts_[expert].layer);
    const auto held = std::count_if(members.begin(), members.end(),
                                    [&](size_t e) { return choice[e] == rules_.capped_format; });
    return static_cast<size_t>(held) < cap_of(members);
  }

  struct Move {
    size_t expert = 0;
    int format = 0;
    double gain = 0;
  };

  // The single change of most gain that needs no more than `room` bytes beyond what it frees.
  Move best_single(const std::vector<int>& choice, int64_t room) const {
    Move best;
    for (size_t e = 0; e < choice.size(); ++e) {
      for (int f = 0; f < formats(); ++f) {
        const double gain = cost(e, choice[e]) - cost(e, f);
        if (gain <= best.gain || step_bytes(choice[e], f) > room) continue;
        if (allowed(choice, e, f)) best = {e, f, gain};
      }
    }
    return best;
  }
  int64_t step_bytes(int from, int to) const {
    return static_cast<int64_t>(at(rules_.bytes, to)) -
           static_cast<int64_t>(at(rules_.bytes, from));
  }

  void spend_rest(std::vector<int>& choice) const {
    while (single(choice) || pair(choice)) {
    }
  }
  int64_t room(const std::vector<int>& choice) const {
    return static_cast<int64_t>(budget_) - static_cast<int64_t>(bytes_of(choice));
  }

  bool single(std::vector<int>& choice) const {
    const Move move = best_single(choice, room(choice));
    if (move.gain <= 0) return false;
    choice[move.expert] = move.format;
    return true;
  }

  // One expert steps down, another takes the room; only what gains in sum.
  bool pair(std::vector<int>& choice) const {
    const int64_t left = room(choice);
    double most = 0;
    std::pair<size_t, int> down;
    Move up;
    for (size_t e = 0; e < choice.size(); ++e) {
      for (int f = 0; f < choice[e]; ++f) {
        if (!allowed(choice, e, f)) continue;
        const double loss = cost(e, f) - cost(e, choice[e]);
        const int held = std::exchange(choice[e], f);
        const Move move = best_single(choice, left - step_bytes(held, f));
        choice[e] = held;
        if (move.expert == e || move.gain - loss <= most) continue;
        most = move.gain - loss;
        down = {e, f};
        up = move;
      }
    }
    // Sums of the same costs in another order must not go round in circles.
    if (most <= 1e-12 * cost_of(choice)) return false;
    choice[down.first] = down.second;
    choice[up.expert] = up.format;
    return true;
  }

  const std::vector<Candidate>& experts_;
  const AllocationRules& rules_;
  std::map<int, std::vector<size_t>> layers_;
  uint64_t budget_ = 0;
};

}  // namespace

Allocation allocate(const std::vector<Candidate>& experts, const AllocationRules& rules) {
  for (const Candidate& expert : experts) {
    ROTA_CHECK(expert.cost.size() == rules.bytes.size(),
               "a cost for each format:", expert.cost.size(), "of", rules.bytes.size());
  }
  return Allocator(experts, rules).run();
}

}  // namespace rota
