// rota-bench neighbour: flags, and the result as a table or as JSON.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/topology.h"
#include "bench/command_flags.h"
#include "bench/commands.h"
#include "bench/machine_note.h"
#include "bench/neighbour_bench.h"
#include "bench/progress.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

Json result_json(const NeighbourBench& bench, const std::vector<NeighbourLine>& lines,
                 const MachineNote& note) {
  Json out{{"benchmark", "neighbour"}, {"threads", bench.threads()}};
  out.update(note_json(note));
  out["lines"] = Json::array();
  for (const NeighbourLine& line : lines) {
    Json cells = Json::array();
    for (const NeighbourCell& cell : line.cells) {
      cells.push_back({{"neighbours", cell.neighbours},
                       {"n", cell.pass_ms.n},
                       {"median_ms", cell.pass_ms.median},
                       {"low_ms", cell.pass_ms.low},
                       {"high_ms", cell.pass_ms.high},
                       {"slowdown", cell.slowdown},
                       {"fair", cell.fair}});
    }
    out["lines"].push_back({{"pass", line.pass}, {"by_neighbours", cells}});
  }
  return out;
}

void print_table(const NeighbourBench& bench, const std::vector<NeighbourLine>& lines,
                 const MachineNote& note) {
  std::printf("%s\n", note_line(note).c_str());
  std::printf("%-9s %10s %12s %10s %6s\n", "pass", "neighbours", "median ms", "slowdown", "fair");
  for (const NeighbourLine& line : lines) {
    for (const NeighbourCell& cell : line.cells) {
      std::printf("%-9s %10d %12.2f %10.2f %6.2f\n", line.pass, cell.neighbours,
                  cell.pass_ms.median, cell.slowdown, cell.fair);
    }
  }
  std::printf("%d threads; fair is what equal shares of the cores cost\n", bench.threads());
}

}  // namespace

Status neighbour_command(std::span<const char* const> words) {
  NeighbourOptions options;
  CommonFlags common;
  std::vector<Flag> flags = {
      {"--threads", "N", "threads of the pool (default 0: all cores)",
       whole_number(options.threads, 0, 1024)},
      {"--spin-us", "N",
       "how long an idle thread spins before it sleeps (default 50, the engine's)",
       whole_number(options.spin_us, 0, 10'000'000)},
      {"--rounds", "N", "windows of each kind, of which the median counts (default 7)",
       whole_number(options.rounds, 1, 10000)},
      {"--window-ms", "MS", "least length of a window (default 400)",
       decimal(options.window_ms, 0, 60000)},
  };
  add_common_flags(common, flags);
  ROTA_RETURN_IF_ERROR(parse_flags(words, flags));
  if (common.help) {
    std::printf(
        "rota-bench neighbour: how much longer a pass takes beside 0, 1 and N busy processes, N\n"
        "the pool's threads; a pool that spins too long makes it ten times, a fair one about "
        "two\n\n"
        "%s\nExample:\n  rota-bench neighbour --rounds 5\n",
        flags_help(flags).c_str());
    return Status();
  }
  MachineNote note = note_machine();
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  ROTA_ASSIGN_OR_RETURN(BusyProcesses neighbours, BusyProcesses::start(threads));
  NeighbourBench bench(options, std::move(neighbours));
  BenchProgress progress(common.progress);
  const auto lines = bench.run([&progress](int done, int all, int count) {
    progress.at(done, all, std::to_string(count) + " neighbours");
  });
  note.load_after = load_average();
  if (common.json) {
    std::printf("%s\n", result_json(bench, lines, note).dump(2).c_str());
  } else {
    print_table(bench, lines, note);
  }
  return Status();
}

}  // namespace rota
