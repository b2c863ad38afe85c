// The allocator against all choices there are, its rules, and the bound that it states itself.
#include "quantise/allocate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"

namespace rota {
namespace {

AllocationRules rules() {
  AllocationRules r;
  r.bytes = {28, 36, 55};  // 128 weights of PTQ1_0, Q2_0, Q3_K
  r.default_format = 1;
  r.capped_format = 0;
  r.cap = 0.5;
  return r;
}

double draw(uint64_t& state) { return unit_double(splitmix64_mix(state += kGoldenGamma)); }

// Costs fall with the format, by how much differs from expert to expert.
std::vector<Candidate> random_experts(uint64_t seed, int layers, int each) {
  uint64_t state = splitmix64(seed);
  std::vector<Candidate> experts;
  for (int i = 0; i < layers * each; ++i) {
    Candidate c;
    c.layer = i / each;
    const double scale = std::exp(4 * draw(state));
    const double ternary = scale * (1 + draw(state)), two = ternary * (0.4 + 0.5 * draw(state));
    c.cost = {ternary, two, two * (0.1 + 0.4 * draw(state))};
    c.locked = draw(state) < 0.1;
    experts.push_back(c);
  }
  return experts;
}

struct Exhausted {
  double cost = 0;
  std::vector<int> format;
};

bool within_rules(const std::vector<Candidate>& experts, const std::vector<int>& format,
                  const AllocationRules& r) {
  uint64_t bytes = 0;
  std::vector<size_t> capped(experts.size(), 0), members(experts.size(), 0);
  for (size_t e = 0; e < experts.size(); ++e) {
    bytes += r.bytes[static_cast<size_t>(format[e])];
    if (experts[e].locked && format[e] != r.default_format) return false;
    ++members[static_cast<size_t>(experts[e].layer)];
    if (format[e] == r.capped_format) ++capped[static_cast<size_t>(experts[e].layer)];
  }
  for (size_t l = 0; l < members.size(); ++l) {
    if (2 * capped[l] > members[l]) return false;
  }
  return bytes <= experts.size() * r.bytes[static_cast<size_t>(r.default_format)];
}

Exhausted exhaust(const std::vector<Candidate>& experts, const AllocationRules& r) {
  Exhausted best = {INFINITY, {}};
  std::vector<int> format(experts.size(), 0);
  size_t count = 1;
  for (size_t e = 0; e < experts.size(); ++e) count *= 3;
  for (size_t i = 0; i < count; ++i) {
    double cost = 0;
    for (size_t e = 0, rest = i; e < experts.size(); ++e, rest /= 3) {
      format[e] = static_cast<int>(rest % 3);
      cost += experts[e].cost[rest % 3];
    }
    if (cost < best.cost && within_rules(experts, format, r)) best = {cost, format};
  }
  return best;
}

TEST_CASE("against every choice there is: within the rules, and the best one or next to it") {
  int exact = 0;
  double over = 0;
  constexpr int kCases = 60;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    CAPTURE(seed);
    const std::vector<Candidate> experts = random_experts(seed, 2, 4);
    const Exhausted best = exhaust(experts, rules());
    const Allocation found = allocate(experts, rules());
    REQUIRE(within_rules(experts, found.format, rules()));
    CHECK(found.cost >= best.cost * (1 - 1e-12));
    CHECK(found.bound <= best.cost * (1 + 1e-9));
    CHECK(found.cost <= 1.15 * best.cost);
    if (found.cost <= best.cost * (1 + 1e-12)) ++exact;
    over += found.cost / best.cost - 1;
  }
  CHECK(exact >= kCases * 3 / 4);
  CHECK(over / kCases < 0.01);
}

TEST_CASE("many experts: the stated bound leaves no room to speak of") {
  const std::vector<Candidate> experts = random_experts(7, 8, 20);
  const Allocation found = allocate(experts, rules());
  REQUIRE(within_rules(experts, found.format, rules()));
  CHECK(found.budget == experts.size() * 36);
  CHECK(found.bytes <= found.budget);
  CHECK(found.budget - found.bytes < 8);  // less than the smallest step up
  double uniform = 0;
  for (const Candidate& e : experts) uniform += e.cost[1];
  CHECK(found.cost < uniform);
  // The relaxation stops short of the budget by less than one expert's step.
  CHECK(found.cost <= found.bound * 1.005);
}

TEST_CASE("a locked expert keeps the default, whatever it would gain") {
  std::vector<Candidate> experts = random_experts(8, 1, 6);
  for (Candidate& e : experts) e.locked = false;
  experts[2].cost = {1e9, 1e6, 0};
  CHECK(allocate(experts, rules()).format[2] == 2);
  experts[2].locked = true;
  CHECK(allocate(experts, rules()).format[2] == 1);
}

TEST_CASE("half a layer may be ternary, not one more, and those that lose least are") {
  std::vector<Candidate> experts(7);
  for (size_t e = 0; e < experts.size(); ++e) {
    experts[e].cost = {1.0 + 0.01 * static_cast<double>(e), 1.0, 0.99};
  }
  // Five ternary ones (40 bytes) would pay for both of these (38); three (24) pay for one.
  experts[0].cost = {200, 100, 0};
  experts[1].cost = {200, 100, 1};
  const Allocation found = allocate(experts, rules());
  CHECK(found.format == std::vector<int>{2, 1, 0, 0, 0, 1, 1});
}

TEST_CASE("when the dearest fits nowhere better, all stay as they are") {
  std::vector<Candidate> experts(4);
  for (Candidate& e : experts) e.cost = {10, 1, 0.999};
  const Allocation found = allocate(experts, rules());
  CHECK(found.format == std::vector<int>(4, 1));
  CHECK(found.bytes == found.budget);
}

}  // namespace
}  // namespace rota
