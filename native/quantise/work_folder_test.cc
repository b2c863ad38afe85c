// What a work folder gives back, and what it does not: anything damaged, half written or of others.
#include "quantise/work_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "base/temp_dir.h"
#include "quantise/piece_states.h"

namespace rota {
namespace {

WorkFolder opened(const std::string& folder, const std::string& inputs) {
  auto work = WorkFolder::open(folder, inputs);
  REQUIRE_MESSAGE(work.ok(), work.status().message());
  return std::move(work).value();
}

void damage(const std::string& path, size_t at) {
  std::string bytes = read_file(path);
  REQUIRE(at < bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_CASE("a record comes back whole, or not at all") {
  const TempDir dir;
  const std::string bytes("a\0record\n", 9);
  const WorkFolder work = opened(dir / "w", "these");
  CHECK_FALSE(work.get("a"));
  REQUIRE(work.put("a", bytes).ok());
  CHECK(opened(dir / "w", "these").get("a") == bytes);
  for (const size_t at : {size_t{0}, bytes.size() - 1, bytes.size() + 3}) {
    REQUIRE(work.put("a", bytes).ok());
    damage(work.path("a"), at);
    CHECK_FALSE(work.get("a"));
  }
  REQUIRE(work.put("a", bytes).ok());
  std::filesystem::resize_file(work.path("a"), 40);
  CHECK_FALSE(work.get("a"));
  work.remove("a");
  CHECK_FALSE(std::filesystem::exists(work.path("a")));
  work.clear();
  CHECK_FALSE(std::filesystem::exists(dir / "w"));
}

TEST_CASE("work of other inputs and folders of others are left alone") {
  const TempDir dir;
  opened(dir / "w", "these");
  const auto other = WorkFolder::open(dir / "w", "those");
  CHECK(other.status().code() == Code::kUsage);
  CHECK(other.status().message() ==
        dir / "w" +
            ": holds the work of other inputs (model, text or options); remove it, or name another "
            "--out");
  std::filesystem::create_directory(dir / "mine");
  dir.write("mine/letter", "dear");
  const auto foreign = WorkFolder::open(dir / "mine", "these");
  CHECK(foreign.status().message() ==
        dir / "mine" +
            ": exists and does not say that it holds a calibration's work; remove it, or name "
            "another --out");
  CHECK(read_file(dir / "mine/letter") == "dear");
  // Killed while it made the folder: nothing but the unfinished first record.
  std::filesystem::create_directory(dir / "young");
  dir.write("young/inputs.tmp", "the");
  opened(dir / "young", "these");
}

TEST_CASE("sealed states come back; open, damaged or foreign ones do not") {
  const TempDir dir;
  auto made = PieceStates::create(dir / "open", 3, 1001);
  REQUIRE(made.ok());
  for (size_t i = 0; i < 3; ++i) made.value().of(i)[1000] = static_cast<uint8_t>(7 + i);
  CHECK(PieceStates::reopen(dir / "open", 3, 1001).empty());
  REQUIRE(made.value().seal(dir / "sealed").ok());
  PieceStates again = PieceStates::reopen(dir / "sealed", 3, 1001);
  REQUIRE_FALSE(again.empty());
  CHECK(again.of(2)[1000] == 9);
  CHECK(PieceStates::reopen(dir / "sealed", 3, 1002).empty());
  CHECK(PieceStates::reopen(dir / "nowhere", 3, 1001).empty());
  for (const size_t at : {size_t{0}, size_t{1500}, size_t{3002}, size_t{3005}}) {
    CAPTURE(at);
    damage(dir / "sealed", at);
    CHECK(PieceStates::reopen(dir / "sealed", 3, 1001).empty());
    damage(dir / "sealed", at);
    CHECK_FALSE(PieceStates::reopen(dir / "sealed", 3, 1001).empty());
  }
}

TEST_CASE("states that the disk has no room for are an error before anything is written") {
  const TempDir dir;
  const auto states = PieceStates::create(dir / "huge", size_t{1} << 20, size_t{1} << 40);
  CHECK(states.status().code() == Code::kIo);
  CHECK_FALSE(std::filesystem::exists(dir / "huge"));
}

}  // namespace
}  // namespace rota
