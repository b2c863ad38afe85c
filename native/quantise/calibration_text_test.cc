// Files of ids to pieces, and every line that is refused.
#include "quantise/calibration_text.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/temp_dir.h"

namespace rota {
namespace {

Config small_config() {
  Config config;
  config.vocab = 100;
  return config;
}

// A sequence of n ids from `first` on.
std::string sequence(int first, int n) {
  std::string line;
  for (int i = 0; i < n; ++i) line += std::to_string(first + i) + " ";
  return line + "\n";
}

std::string refusal(const TempDir& dir, const std::string& text) {
  const auto pieces = read_pieces({{dir.write("ids", text)}, {}}, 32, small_config());
  REQUIRE_FALSE(pieces.ok());
  CHECK(pieces.status().code() == Code::kUsage);
  return pieces.status().message().substr(pieces.status().message().find("ids") + 3);
}

TEST_CASE("sequences are cut into pieces, short rests are left out") {
  const TempDir dir;
  const TextFiles files = {{dir.write("fit", sequence(0, 80) + "\n" + sequence(20, 47))},
                           {dir.write("held", sequence(50, 32))}};
  const auto pieces = read_pieces(files, 32, small_config());
  REQUIRE_MESSAGE(pieces.ok(), pieces.status().message());
  std::vector<std::pair<size_t, bool>> shape;
  for (const Piece& piece : pieces.value()) shape.emplace_back(piece.tokens.size(), piece.held_out);
  CHECK(shape == std::vector<std::pair<size_t, bool>>{
                     {32, false}, {32, false}, {16, false}, {32, false}, {32, true}});
  CHECK(pieces.value()[1].tokens[0] == 32);
  CHECK(pieces.value()[3].tokens[31] == 51);
  CHECK(pieces.value()[4].tokens[0] == 50);
}

TEST_CASE("without a part of its own, every fourth sequence is measured on") {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 8; ++i) text += sequence(i, 20);
  const auto pieces = read_pieces({{dir.write("fit", text)}, {}}, 32, small_config());
  REQUIRE(pieces.ok());
  for (size_t i = 0; i < 8; ++i) CHECK(pieces.value()[i].held_out == (i % 4 == 3));
}

TEST_CASE("what is refused, with its line") {
  const TempDir dir;
  CHECK(refusal(dir, sequence(0, 20) + "1 2 x\n") ==
        ":2: token ids with spaces between are wanted");
  CHECK(refusal(dir, "1 2,3\n") == ":1: token ids with spaces between are wanted");
  CHECK(refusal(dir, "1 99999999999\n") == ":1: token ids with spaces between are wanted");
  CHECK(refusal(dir, "1 100\n").starts_with(":1: token 100"));
  CHECK(refusal(dir, "1 -1\n").starts_with(":1: token -1"));
  const auto none = read_pieces({{dir.write("fit", sequence(0, 20))}, {}}, 32, small_config());
  CHECK(none.status().message() == "the text has no sequence of 16 tokens or more to measure on");
  const auto empty = read_pieces({{dir.write("fit", "1 2 3\n")}, {}}, 32, small_config());
  CHECK(empty.status().message() == "the text has no sequence of 16 tokens or more to fit on");
}

}  // namespace
}  // namespace rota
