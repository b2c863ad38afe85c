// rota-bench pool: flags -> PoolBenchOptions, and the result as a table or as JSON.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/page_use.h"
#include "bench/command_flags.h"
#include "bench/commands.h"
#include "bench/machine_note.h"
#include "bench/pool_bench.h"
#include "bench/progress.h"
#include "engines/memory_guard.h"
#include "experts/counters.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

// Fewer bytes of distinct experts would let a cache hold a part of what is read.
constexpr uint64_t kDefinedBytes = uint64_t{4} << 30;

struct Arguments {
  PoolBenchOptions options;
  CommonFlags common;
};

Status set_formats(PoolBenchOptions& options, const std::string& text) {
  if (text == "all") {
    options.formats.assign(kBlobFormats.begin(), kBlobFormats.end());
    return Status();
  }
  return format_list(options.formats)(text);
}

std::vector<Flag> pool_flags(Arguments& a) {
  PoolBenchOptions& o = a.options;
  std::vector<Flag> flags = {
      {"--formats", "LIST", "block formats, or all (default Q8_0,Q3_K,Q2_0,PTQ1_0)",
       [&o](const std::string& v) { return set_formats(o, v); }},
      {"--rows", "LIST", "rows of a call (default 1,2,4,6,16)", row_list(o.rows)},
      {"--gib", "N", "GiB of experts (default 4; fewer is below the definition)",
       gibibytes(o.bytes, 0.0625, 1 << 20)},
      {"--threads", "N", "the most threads; 1 .. N are tried (default 0: all cores)",
       whole_number(o.threads, 0, 1024)},
      {"--rounds", "N", "windows of each kind, of which the median counts (default 9)",
       whole_number(o.rounds, 1, 10000)},
      {"--window-ms", "MS", "least length of a window (default 80)",
       decimal(o.window_ms, 0, 60000)},
      {"--huge-pages", "on|off", "ask for huge pages (default on)", on_off(o.huge_pages)},
  };
  add_common_flags(a.common, flags);
  return flags;
}

Json rates(const Spread& spread) {
  return {{"n", spread.n},
          {"median_bytes_per_s", spread.median},
          {"low_bytes_per_s", spread.low},
          {"high_bytes_per_s", spread.high},
          {"best_bytes_per_s", spread.best}};
}

Json line_json(const PoolLine& line) {
  Json cells = Json::array();
  for (const PoolCell& cell : line.cells) {
    cells.push_back(
        {{"threads", cell.threads}, {"pool", rates(cell.pool)}, {"ceiling", rates(cell.ceiling)}});
  }
  return {{"format", format_info(line.format).name},
          {"rows", line.rows},
          {"blobs", line.blobs},
          {"blob_bytes", line.blob_bytes},
          {"pool_bytes_per_s", line.best_pool().pool.median},
          {"pool_threads", line.best_pool().threads},
          {"ceiling_bytes_per_s", line.best_ceiling().ceiling.median},
          {"ceiling_threads", line.best_ceiling().threads},
          {"ratio", line.ratio()},
          {"by_threads", cells}};
}

Json result_json(const PoolBenchOptions& options, const MachineNote& note, const PageUse& pages,
                 const char* kernel, const std::vector<PoolLine>& lines) {
  Json out{{"benchmark", "pool"}};
  out.update(note_json(note));
  out["memory"] = {{"bytes", options.bytes},
                   {"below_definition", options.bytes < kDefinedBytes},
                   {"huge_pages_asked", options.huge_pages},
                   {"huge_bytes", pages.huge_bytes},
                   {"resident_bytes", pages.resident_bytes}};
  out["shape"] = {{"dim", options.shape.dim},
                  {"moe_inter", options.shape.moe_inter},
                  {"experts_a_call", options.top_k}};
  out["ceiling_kernel"] = kernel;
  out["rounds"] = options.rounds;
  out["window_ms"] = options.window_ms;
  out["lines"] = Json::array();
  for (const PoolLine& line : lines) out["lines"].push_back(line_json(line));
  return out;
}

void print_table(const PoolBenchOptions& options, const MachineNote& note, const PageUse& pages,
                 const std::vector<PoolLine>& lines) {
  std::printf("%s\n%.2f GiB of experts of %d x %d, %.2f GiB of it on huge pages\n",
              note_line(note).c_str(), static_cast<double>(options.bytes) * 0x1p-30,
              options.shape.dim, options.shape.moe_inter,
              static_cast<double>(pages.huge_bytes) * 0x1p-30);
  if (options.bytes < kDefinedBytes) {
    std::printf("below the definition: it asks for 4 GiB of distinct experts\n");
  }
  std::printf("%-8s %4s  %-22s  %-22s  %s\n", "format", "rows", "pool GB/s (threads)",
              "memory GB/s (threads)", "ratio");
  for (const PoolLine& line : lines) {
    const PoolCell& pool = line.best_pool();
    const PoolCell& ceiling = line.best_ceiling();
    std::printf("%-8s %4d  %8.2f (%d)%11s %8.2f (%d)%11s  %5.3f\n", format_info(line.format).name,
                line.rows, pool.pool.median * 1e-9, pool.threads, "", ceiling.ceiling.median * 1e-9,
                ceiling.threads, "", line.ratio());
  }
}

}  // namespace

Status pool_command(std::span<const char* const> words) {
  Arguments a;
  const std::vector<Flag> flags = pool_flags(a);
  ROTA_RETURN_IF_ERROR(parse_flags(words, flags));
  if (a.common.help) {
    std::printf(
        "rota-bench pool: whole experts (gate, up, SwiGLU, down) through the CPU pool, and the\n"
        "read bandwidth of the same memory, in turn; medians, the best of 1 .. N threads\n\n%s\n"
        "Example:\n  rota-bench pool --formats Q3_K,Q2_0 --rows 1,4\n",
        flags_help(flags).c_str());
    return Status();
  }
  ROTA_RETURN_IF_ERROR(
      check_memory({{"experts", "--gib", PoolBench::memory_bytes(a.options)}}, memory_available()));
  MachineNote note = note_machine();
  ROTA_ASSIGN_OR_RETURN(const auto bench, PoolBench::create(a.options));
  BenchProgress progress(a.common.progress);
  ROTA_ASSIGN_OR_RETURN(
      const std::vector<PoolLine> lines,
      bench->run([&progress](int done, int all, Format format, int rows) {
        progress.at(done, all,
                    std::string(format_info(format).name) + ", rows " + std::to_string(rows));
      }));
  const PageUse pages = page_use(bench->blobs().memory().data(), bench->blobs().memory().size());
  note.load_after = load_average();
  if (a.common.json) {
    std::printf(
        "%s\n",
        result_json(a.options, note, pages, bench->ceiling_kernel(), lines).dump(2).c_str());
  } else {
    print_table(a.options, note, pages, lines);
  }
  return Status();
}

}  // namespace rota
