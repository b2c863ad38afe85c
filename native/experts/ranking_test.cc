// Rank order and rank files.
#include "experts/ranking.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/temp_dir.h"

namespace rota {

TEST_CASE("without a file experts are interleaved over layers") {
  CHECK(index_ranking(2, 3) == Ranking{0, 3, 1, 4, 2, 5});
}

TEST_CASE("a rank file comes first and the rest follows in index order") {
  const auto order = parse_ranking("# hot ones\n1 2\n\n0 1 # why\n", "hot.txt", 2, 3);
  REQUIRE(order.ok());
  CHECK(order.value() == Ranking{5, 1, 0, 3, 4, 2});
}

TEST_CASE("a bad rank file names file, line and what is wrong") {
  const auto message = [](const std::string& text) {
    return parse_ranking(text, "hot.txt", 2, 3).status().message();
  };
  CHECK(message("0 1\n0\n") == "hot.txt:2: a line is \"layer expert\", two numbers");
  CHECK(message("0 1 7\n") == "hot.txt:1: a line is \"layer expert\", two numbers");
  CHECK(message("0 one\n") == "hot.txt:1: a line is \"layer expert\", two numbers");
  CHECK(message("0 1\n0 1\n") == "hot.txt:2: layer 0 expert 1 is listed twice");
  CHECK(message("2 0\n") ==
        "hot.txt:1: layer 2 expert 0 is not in the model (layers 0..1, experts 0..2)");
  CHECK(read_ranking("/nowhere/rank.txt", 2, 3).status().message() ==
        "/nowhere/rank.txt: cannot open: No such file or directory");
  const TempDir folder;
  const std::string empty = folder / "empty.txt";
  std::ofstream{empty};
  CHECK(read_ranking(empty, 2, 3).status().message() ==
        empty + ": is empty; a rank names an expert a line");
}

}  // namespace rota
