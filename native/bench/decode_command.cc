// rota-bench decode: flags, a model and an engine a format, and the result as a table or as JSON.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/command_flags.h"
#include "bench/commands.h"
#include "bench/decode_bench.h"
#include "bench/machine_note.h"
#include "bench/progress.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kDefinedBytes = uint64_t{4} << 30;

struct Arguments {
  DecodeBenchOptions options;
  std::vector<Format> formats = {Format::kQ2_0};
  CommonFlags common;
};

std::vector<Flag> decode_flags(Arguments& a) {
  DecodeBenchOptions& o = a.options;
  std::vector<Flag> flags = {
      {"--dir", "FOLDER", "where the model is, or is written: 4 to 9 GB (default .)",
       [&o](const std::string& v) { return o.folder = v, Status(); }},
      {"--formats", "LIST", "formats of the experts, a model each (default Q2_0)",
       format_list(a.formats)},
      {"--gib", "N", "GiB of experts of the pool that is measured alone (default 4)",
       gibibytes(o.pool_bytes, 0.0625, 1 << 20)},
      {"--rounds", "N", "windows of each kind, of which the median counts (default 25)",
       whole_number(o.rounds, 1, 10000)},
      {"--tokens", "N", "tokens of a decode window (default 8)", whole_number(o.tokens, 1, 200)},
      {"--window-ms", "MS", "least length of the other windows (default 80)",
       decimal(o.window_ms, 0, 60000)},
  };
  for (Flag& flag : machine_flags(o.machine)) {
    flag.variables.clear();  // a benchmark is what its command line says
    flags.push_back(std::move(flag));
  }
  add_common_flags(a.common, flags);
  return flags;
}

Json rates(const Spread& spread, const char* unit) {
  const std::string suffix = unit;
  return {{"n", spread.n},
          {"median" + suffix, spread.median},
          {"low" + suffix, spread.low},
          {"high" + suffix, spread.high},
          {"best" + suffix, spread.best}};
}

Json line_json(const DecodeLine& line) {
  Json out{{"format", format_info(line.format).name},
           {"threads", line.threads},
           {"model_bytes", line.model_bytes},
           {"decode", rates(line.decode, "_bytes_per_s")},
           {"pool", rates(line.pool, "_bytes_per_s")},
           {"pool_threads", line.pool_threads},
           {"ceiling", rates(line.ceiling, "_bytes_per_s")},
           {"ceiling_threads", line.ceiling_threads},
           {"ratio", line.of_pool()},
           {"tokens_per_s", line.tokens_per_s.median},
           {"pool_share_of_time", line.pool_share.median}};
  out["ledger_cost"] = {
      {"median", line.ledger.median}, {"low", line.ledger.low}, {"high", line.ledger.high}};
  return out;
}

void print_table(const std::vector<DecodeLine>& lines, const MachineNote& note, uint64_t bytes) {
  std::printf("%s\n", note_line(note).c_str());
  if (bytes < kDefinedBytes) {
    std::printf("below the definition: it asks for 4 GiB of distinct experts\n");
  }
  std::printf("%-8s %8s %12s %11s %11s %7s %6s %10s  %s\n", "format", "threads", "decode GB/s",
              "pool GB/s", "memory GB/s", "of pool", "tok/s", "pool/time", "ledger costs (95 %)");
  for (const DecodeLine& line : lines) {
    std::printf("%-8s %8d %12.2f %11.2f %11.2f %7.3f %6.2f %8.1f %%  %+.2f %% (%+.2f .. %+.2f)\n",
                format_info(line.format).name, line.threads, line.decode.median * 1e-9,
                line.pool.median * 1e-9, line.ceiling.median * 1e-9, line.of_pool(),
                line.tokens_per_s.median, line.pool_share.median * 100, line.ledger.median * 100,
                line.ledger.low * 100, line.ledger.high * 100);
  }
}

}  // namespace

Status decode_command(std::span<const char* const> words) {
  Arguments a;
  const std::vector<Flag> flags = decode_flags(a);
  ROTA_RETURN_IF_ERROR(parse_flags(words, flags));
  if (a.common.help) {
    std::printf(
        "rota-bench decode: the strata engine decodes a synthetic model with experts of the real\n"
        "shape, all in the arena; bytes of experts over the pool's busy time, beside the pool "
        "alone\n"
        "in the same run. The same with a ledger and without says what a ledger costs.\n\n%s\n"
        "Example:\n  rota-bench decode --dir /var/tmp --formats Q2_0,Q3_K\n",
        flags_help(flags).c_str());
    return Status();
  }
  MachineNote note = note_machine();
  std::vector<DecodeLine> lines;
  for (const Format format : a.formats) {
    a.options.format = format;
    const std::string name = format_info(format).name;
    BenchProgress progress(a.common.progress);
    const auto say = [&](int done, int all, const char* what) {
      progress.at(done, all, name + ", " + what);
    };
    ROTA_ASSIGN_OR_RETURN(const auto bench, DecodeBench::create(a.options, say));
    std::fprintf(stderr, "%s\n", machine_line(a.options.machine, bench->machine()).c_str());
    ROTA_ASSIGN_OR_RETURN(const DecodeLine line, bench->run(say));
    lines.push_back(line);
  }
  note.load_after = load_average();
  if (!a.common.json) {
    print_table(lines, note, a.options.pool_bytes);
    return Status();
  }
  Json out{{"benchmark", "decode"}};
  out.update(note_json(note));
  out["below_definition"] = a.options.pool_bytes < kDefinedBytes;
  out["lines"] = Json::array();
  for (const DecodeLine& line : lines) out["lines"].push_back(line_json(line));
  std::printf("%s\n", out.dump(2).c_str());
  return Status();
}

}  // namespace rota
