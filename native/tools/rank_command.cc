// rota-model rank: routes that an engine dumped -> the order in which experts are worth fast
// memory.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/text_file.h"
#include "experts/ranking.h"
#include "experts/routes.h"
#include "tools/model_tool.h"

namespace rota {
namespace {

constexpr std::array kLists = {"--routes"};

struct Arguments {
  std::vector<std::string> routes;
  std::string out, rows = "decode";
};

Status set_rows(Arguments& a, const std::string& value) {
  if (value != "decode" && value != "prompt" && value != "all") {
    return Status(Code::kUsage, "\"" + value + "\" is none of decode, prompt, all");
  }
  return a.rows = value, Status();
}

std::vector<Flag> rank_flags(Arguments& a) {
  return {
      {"--routes",
       "FILE...",
       "routes that rota-strata --dump-routes wrote, of one model",
       [&a](const std::string& v) { return a.routes.push_back(v), Status(); },
       {},
       true},
      {"--out", "FILE", "the rank file, for rota-strata --rank",
       [&a](const std::string& v) { return a.out = v, Status(); }},
      {"--rows", "KIND", "count the rows of decode (default), prompt, or all",
       [&a](const std::string& v) { return set_rows(a, v); }},
  };
}

std::vector<RowKind> kinds_of(const std::string& rows) {
  if (rows == "prompt") return {RowKind::kPrompt};
  if (rows == "decode") return {RowKind::kDecode, RowKind::kVerify};
  return {RowKind::kPrompt, RowKind::kDecode, RowKind::kVerify};
}

}  // namespace

std::string rank_help() {
  Arguments arguments;
  return flags_help(rank_flags(arguments));
}

Status rank_command(std::span<const char* const> arguments) {
  Arguments a;
  ROTA_RETURN_IF_ERROR(parse_flags(spread_lists(arguments, kLists), rank_flags(a)));
  if (a.routes.empty()) return Status(Code::kUsage, "--routes is missing: --routes FILE...");
  if (a.out.empty()) return Status(Code::kUsage, "--out is missing: --out FILE");
  const std::vector<RowKind> kinds = kinds_of(a.rows);
  ROTA_ASSIGN_OR_RETURN(const RouteCounts counts, count_routes(a.routes, kinds));
  int64_t rows = 0;
  for (const RowKind kind : kinds) rows += counts.rows[static_cast<size_t>(kind)];
  if (rows == 0) {
    return Status(Code::kLoad, a.routes[0] + ": no rows of kind " + a.rows + " to count");
  }
  if (counts.torn_bytes > 0) {
    std::fprintf(stderr, "rota-model: %" PRIu64 " bytes of rows that are not whole were left out\n",
                 counts.torn_bytes);
  }
  const RouteShape& shape = counts.shape;
  const std::string head = "# rank by use in " + std::to_string(rows) + " " + a.rows +
                           " rows: \"layer expert\", most used first\n";
  const Ranking rank = rank_by_use(shape.layers, shape.experts, counts.uses);
  ROTA_RETURN_IF_ERROR(write_text_file(a.out, head + ranking_text(rank, shape.experts)));
  std::printf("%s: %zu experts by their use in %" PRId64 " rows\n", a.out.c_str(), rank.size(),
              rows);
  return Status();
}

}  // namespace rota
