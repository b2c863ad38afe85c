// Scripted drafts.
#include "decode/draft_oracle.h"

#include <doctest/doctest.h>

namespace rota {
namespace {

std::vector<int> draft(DraftOracle& oracle, size_t generated, int depth) {
  const auto ids = oracle.draft(generated, depth);
  return {ids.begin(), ids.end()};
}

}  // namespace

TEST_CASE("the oracle drafts a request's own line and stops where it ends") {
  auto parsed = DraftOracle::parse("[10, 11, 12, 13]\n20 21\n", "o.txt", 0, 100);
  REQUIRE(parsed.ok());
  DraftOracle& oracle = parsed.value();
  CHECK(draft(oracle, 1, 2).empty());
  oracle.next_request();
  CHECK(draft(oracle, 1, 2) == std::vector<int>{11, 12});
  CHECK(draft(oracle, 3, 5) == std::vector<int>{13});
  CHECK(draft(oracle, 4, 5).empty());
  oracle.next_request();
  CHECK(draft(oracle, 1, 5) == std::vector<int>{21});
  oracle.next_request();
  CHECK(draft(oracle, 1, 5).empty());
}

TEST_CASE("every k-th drafted token of a request is spoiled") {
  auto parsed = DraftOracle::parse("1 2 3 4 5 6\n1 2 3\n", "o.txt", 2, 7);
  REQUIRE(parsed.ok());
  DraftOracle& oracle = parsed.value();
  oracle.next_request();
  CHECK(draft(oracle, 0, 3) == std::vector<int>{1, 3, 3});
  CHECK(draft(oracle, 3, 3) == std::vector<int>{5, 5, 0});
  oracle.next_request();
  CHECK(draft(oracle, 0, 2) == std::vector<int>{1, 3});
}

TEST_CASE("a bad oracle file names the line") {
  CHECK(DraftOracle::parse("1 2\nx\n", "o.txt", 0, 9).status().message() ==
        "o.txt:2: token ids expected");
  CHECK(DraftOracle::parse("1 9\n", "o.txt", 0, 9).status().message() ==
        "o.txt:1: token 9 is not below the vocabulary of 9");
}

}  // namespace rota
