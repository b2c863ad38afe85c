// rota-model rank: routes that an engine dumped -> the order in which experts are worth fast
// memory.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/flags.h"
#include "experts/ranking.h"
#include "experts/routes.h"
#include "tools/model_tool.h"

namespace rota {
namespace {

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

// Words after --routes are further files: a shell's pattern becomes one of each.
std::vector<const char*> with_flags(std::span<const char* const> arguments) {
  std::vector<const char*> words;
  bool routes = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with("--")) {
      routes = word == "--routes" || word.starts_with("--routes=");
      words.push_back(arguments[i]);
      if (word.find('=') == word.npos && i + 1 < arguments.size()) words.push_back(arguments[++i]);
      continue;
    }
    if (routes) words.push_back("--routes");
    words.push_back(arguments[i]);
  }
  return words;
}

std::vector<RowKind> kinds_of(const std::string& rows) {
  if (rows == "prompt") return {RowKind::kPrompt};
  if (rows == "decode") return {RowKind::kDecode, RowKind::kVerify};
  return {RowKind::kPrompt, RowKind::kDecode, RowKind::kVerify};
}

Status write_file(const std::string& path, const std::string& text) {
  const auto failed = [&path] {
    return Status(Code::kIo, path + ": cannot write: " + std::strerror(errno));
  };
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failed();
  Status status;
  for (size_t done = 0; done < text.size() && status.ok();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = failed();
    done += static_cast<size_t>(std::max<ssize_t>(n, 0));
  }
  if (::close(fd) != 0 && status.ok()) status = failed();
  return status;
}

}  // namespace

std::string rank_help() {
  Arguments arguments;
  return flags_help(rank_flags(arguments));
}

Status rank_command(std::span<const char* const> arguments) {
  Arguments a;
  ROTA_RETURN_IF_ERROR(parse_flags(with_flags(arguments), rank_flags(a)));
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
  ROTA_RETURN_IF_ERROR(write_file(a.out, head + ranking_text(rank, shape.experts)));
  std::printf("%s: %zu experts by their use in %" PRId64 " rows\n", a.out.c_str(), rank.size(),
              rows);
  return Status();
}

}  // namespace rota
