// Lines out of a stream: whatever the cuts, and whatever becomes of one line, the others arrive.
#include "engines/line_splitter.h"

#include <doctest/doctest.h>

#include <new>
#include <vector>

namespace rota {
namespace {

using Refused = LineSplitter::Refused;

// What comes out of `text` when it is fed in pieces of `cut` bytes; a refused line is "?" or "!",
// and a line that says "memory" finds none.
std::vector<std::string> lines_of(const std::string& text, size_t cut, size_t longest = 100) {
  std::vector<std::string> out;
  LineSplitter lines(
      longest,
      [&out](const std::string& line) {
        if (line == "memory") throw std::bad_alloc();
        out.push_back(line);
      },
      [&out](Refused why) { out.emplace_back(why == Refused::kTooLong ? "?" : "!"); });
  for (size_t at = 0; at < text.size(); at += cut) lines.feed(text.substr(at, cut));
  return out;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines are the same however the bytes are cut; half a line at the end is none") {
  const std::string text = "one\n\ntwo\r\nthree\nhalf";
  const Lines expected{"one", "", "two\r", "three"};
  for (size_t cut = 1; cut <= text.size(); ++cut) CHECK(lines_of(text, cut) == expected);
}

TEST_CASE("a line that is too long is refused once and alone, wherever its end is cut") {
  const std::string text = "one\n" + std::string(30, 'x') + "\ntwo\n" + std::string(8, 'y') + "\n";
  const Lines expected{"one", "?", "two", "yyyyyyyy"};
  for (size_t cut = 1; cut <= text.size(); ++cut) CHECK(lines_of(text, cut, 8) == expected);
}

TEST_CASE("a line whose handling finds no memory is refused alone, wherever its end is cut") {
  const std::string text = "one\nmemory\ntwo\nmemory\nmemory\nthree\n";
  const Lines expected{"one", "!", "two", "!", "!", "three"};
  for (size_t cut = 1; cut <= text.size(); ++cut) CHECK(lines_of(text, cut) == expected);
}

}  // namespace rota
