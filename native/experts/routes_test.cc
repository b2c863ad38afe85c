// Routes through a file and back, what a reader refuses, and a disk that is full.
#include "experts/routes.h"

#include <doctest/doctest.h>

#include "base/temp_dir.h"
#include "experts/ranking.h"

namespace rota {
namespace {

constexpr RouteShape kShape{2, 4, 2};
const std::vector<RowKind> kGenerated = {RowKind::kDecode, RowKind::kVerify};

std::unique_ptr<RouteLog> open(const std::string& path, size_t buffer = 1 << 20) {
  auto log = RouteLog::open(path, kShape, buffer);
  REQUIRE(log.ok());
  return std::move(log).value();
}

// A pass of two layers.
Status pass(RouteLog& log, PassKind kind, const std::vector<int>& first,
            const std::vector<int>& second) {
  const int rows = static_cast<int>(first.size()) / kShape.top_k;
  ROTA_RETURN_IF_ERROR(log.add(kind, 0, rows, kShape.top_k, first.data()));
  return log.add(kind, 1, rows, kShape.top_k, second.data());
}

TEST_CASE("rows come back by kind, layer and expert") {
  const TempDir dir;
  {
    const auto log = open(dir / "r");
    REQUIRE(pass(*log, PassKind::kPrefill, {0, 1, 0, 1, 0, 1}, {3, 2, 3, 2, 3, 2}).ok());
    REQUIRE(pass(*log, PassKind::kDecode, {2, 3}, {0, 1}).ok());
    REQUIRE(pass(*log, PassKind::kVerify, {2, 0, 1, 2}, {0, 3, 3, 1}).ok());
    CHECK(log->rows() == 6);
  }
  const auto decode = count_routes({dir / "r"}, kGenerated);
  REQUIRE(decode.ok());
  CHECK(decode.value().shape == kShape);
  CHECK(decode.value().rows == std::array<int64_t, kRowKinds>{3, 1, 2});
  CHECK(decode.value().uses == std::vector<int64_t>{1, 1, 3, 1, 2, 2, 0, 2});
  CHECK(decode.value().torn_bytes == 0);
  const auto twice = count_routes({dir / "r", dir / "r"}, {RowKind::kPrompt});
  CHECK(twice.value().uses == std::vector<int64_t>{6, 6, 0, 0, 0, 0, 6, 6});
}

TEST_CASE("the format is the documented one, byte for byte") {
  const TempDir dir;
  {
    const auto log = open(dir / "r");
    REQUIRE(pass(*log, PassKind::kVerify, {2, 3}, {0, 1}).ok());
  }
  const std::string expected = std::string("ROTAROUT") + std::string("\1\0\0\0\2\0\0\0", 8) +
                               std::string("\4\0\0\0\2\0\0\0", 8) +
                               std::string("\2\0\2\0\3\0\0\0\1\0", 10);
  CHECK(read_file(dir / "r") == expected);
}

TEST_CASE("the buffer is bounded, and a pass that failed leaves no row") {
  const TempDir dir;
  const auto log = open(dir / "r", 64);
  const std::vector<int> ids = {0, 1};
  REQUIRE(log->add(PassKind::kDecode, 0, 1, 2, ids.data()).ok());  // never reaches layer 1
  REQUIRE(pass(*log, PassKind::kDecode, {2, 3}, {2, 3}).ok());
  CHECK(read_file(dir / "r").empty());
  for (int i = 0; i < 3; ++i) REQUIRE(pass(*log, PassKind::kDecode, {2, 3}, {2, 3}).ok());
  CHECK(read_file(dir / "r").size() == 24 + 4 * 10);
  REQUIRE(log->flush().ok());
  const auto counts = count_routes({dir / "r"}, kGenerated);
  CHECK(counts.value().uses == std::vector<int64_t>{0, 0, 4, 4, 0, 0, 4, 4});
}

TEST_CASE("a full disk is an error that names the file; later rows are tried again") {
  const auto log = open("/dev/full", 64);
  REQUIRE(pass(*log, PassKind::kDecode, {0, 1}, {0, 1}).ok());
  for (int i = 0; i < 2; ++i) {
    const Status status = log->flush();
    CHECK(status.code() == Code::kIo);
    CHECK(status.message() == "--dump-routes /dev/full: cannot write: No space left on device");
  }
  CHECK(log->rows() == 0);
  Status status;
  for (int i = 0; i < 4 && status.ok(); ++i) {
    status = pass(*log, PassKind::kDecode, {0, 1}, {0, 1});
  }
  CHECK(status.code() == Code::kIo);
  CHECK(RouteLog::open("/nowhere/r", kShape).status().message() ==
        "--dump-routes /nowhere/r: cannot write: No such file or directory");
}

TEST_CASE("a reader refuses what is no routes file, and drops a torn row") {
  const TempDir dir;
  {
    const auto log = open(dir / "r");
    REQUIRE(pass(*log, PassKind::kDecode, {0, 1}, {0, 1}).ok());
  }
  const std::string good = read_file(dir / "r");
  const auto message = [&](const std::string& bytes) {
    dir.write("bad", bytes);
    return count_routes({dir / "bad"}, kGenerated).status().message();
  };
  const std::string bad = dir / "bad";
  CHECK(message("") == bad + ": no routes file of --dump-routes");
  CHECK(message("ROTAROUX" + good.substr(8)) == bad + ": no routes file of --dump-routes");
  const auto patched = [&good](size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  CHECK(message(patched(8, 9)) == bad + ": routes of version 9; this program reads version 1");
  CHECK(message(patched(15, 127)).find("are none that a routes file can hold") !=
        std::string::npos);
  CHECK(message(patched(24, 7)) == bad + ": row 0: kind 7 is none");
  CHECK(message(patched(26, 4)) == bad + ": row 0: expert 4 of 4");
  dir.write("torn", good + good.substr(24, 3));
  CHECK(count_routes({dir / "torn"}, kGenerated).value().torn_bytes == 3);
  CHECK(count_routes({dir / "none"}, kGenerated).status().code() == Code::kUsage);
  CHECK(RouteLog::open(dir / "o", {2, 4, 1}).ok());
  CHECK(count_routes({dir / "r", dir / "o"}, kGenerated).status().message() ==
        (dir / "o") +
            ": routes of 2 layers of 4 experts, top 1, the files before it of 2 layers "
            "of 4 experts, top 2");
}

TEST_CASE("a rank by use: most used first, equals in index order, and its text reads back") {
  const Ranking rank = rank_by_use(2, 3, std::vector<int64_t>{5, 0, 7, 5, 9, 0});
  CHECK(rank == Ranking{4, 2, 0, 3, 1, 5});
  const std::string text = ranking_text(rank, 3);
  CHECK(text == "1 1\n0 2\n0 0\n1 0\n0 1\n1 2\n");
  CHECK(parse_ranking(text, "f", 2, 3).value() == rank);
}

}  // namespace
}  // namespace rota
