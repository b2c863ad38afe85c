// rota-model rank: what it counts, what it refuses.
#include <doctest/doctest.h>

#include "base/temp_dir.h"
#include "experts/routes.h"
#include "tools/model_tool.h"

namespace rota {
namespace {

// One layer of three experts; each list is a row.
void write_routes(const std::string& path, PassKind kind,
                  const std::vector<std::vector<int>>& rows) {
  const auto log = RouteLog::open(path, {1, 3, 1});
  REQUIRE(log.ok());
  for (const auto& row : rows) REQUIRE(log.value()->add(kind, 0, 1, 1, row.data()).ok());
}

Status rank(std::vector<const char*> words) { return rank_command(words); }

TEST_CASE("rank orders by use over all files, of the rows it is asked for") {
  const TempDir dir;
  const std::string a = dir / "a", b = dir / "b", p = dir / "p", out = dir / "rank";
  write_routes(a, PassKind::kDecode, {{2}, {2}, {1}});
  write_routes(b, PassKind::kVerify, {{1}, {1}});
  write_routes(p, PassKind::kPrefill, {{0}, {0}, {0}, {0}});
  REQUIRE(rank({"--routes", a.c_str(), b.c_str(), p.c_str(), "--out", out.c_str()}).ok());
  CHECK(read_file(out) ==
        "# rank by use in 5 decode rows: \"layer expert\", most used first\n0 1\n0 2\n0 0\n");
  REQUIRE(rank({"--rows=all", "--routes", a.c_str(), "--out", out.c_str(), "--routes", p.c_str()})
              .ok());
  CHECK(read_file(out).find("7 all rows") != std::string::npos);
  CHECK(read_file(out).ends_with("\n0 0\n0 2\n0 1\n"));
  REQUIRE(rank({"--rows", "prompt", "--routes", p.c_str(), "--out", out.c_str()}).ok());
  CHECK(read_file(out).ends_with("\n0 0\n0 1\n0 2\n"));
}

TEST_CASE("rank refuses with one line") {
  const TempDir dir;
  const std::string p = dir / "p", none = dir / "none", out = dir / "rank";
  write_routes(p, PassKind::kPrefill, {{0}});
  CHECK(rank({}).message() == "--routes is missing: --routes FILE...");
  CHECK(rank({"--routes", p.c_str()}).message() == "--out is missing: --out FILE");
  CHECK(rank({"--rows", "some"}).message() == "--rows: \"some\" is none of decode, prompt, all");
  CHECK(rank({"--routes", none.c_str(), "--out", out.c_str()}).message() ==
        none + ": cannot open: No such file or directory");
  const Status empty = rank({"--routes", p.c_str(), "--out", out.c_str()});
  CHECK(empty.code() == Code::kLoad);
  CHECK(empty.message() == p + ": no rows of kind decode to count");
  CHECK(rank({"--routes", p.c_str(), "--rows", "all", "--out", "/dev/full"}).message() ==
        "/dev/full: cannot write: No space left on device");
}

}  // namespace
}  // namespace rota
