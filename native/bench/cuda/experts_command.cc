// rota-bench experts: flags -> ExpertBenchOptions, and the result as a table or as JSON.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/command_flags.h"
#include "bench/commands.h"
#include "bench/cuda/expert_bench.h"
#include "bench/machine_note.h"
#include "bench/progress.h"
#include "engines/memory_guard.h"

namespace rota {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  ExpertBenchOptions options;
  CommonFlags common;
};

std::vector<Flag> experts_flags(Arguments& a) {
  ExpertBenchOptions& o = a.options;
  std::vector<Flag> flags = {
      {"--device", "NAME", "cuda:N, an NVIDIA GPU (default cuda:0)", gpu_number(o.device)},
      {"--formats", "LIST", "block formats (default Q8_0,MXFP4,Q3_K,Q2_0,PTQ1_0)",
       format_list(o.formats)},
      {"--rows", "LIST", "rows of a call (default 1,2,4,8,16)", row_list(o.rows)},
      {"--experts", "N", "distinct experts of a call (default 8)", whole_number(o.experts, 1, 384)},
      {"--gib", "N", "GiB of experts (default 1)", gibibytes(o.bytes, 0.25, 1024)},
      {"--rounds", "N", "windows of each kind, of which the median counts (default 15)",
       whole_number(o.rounds, 1, 10000)},
  };
  add_common_flags(a.common, flags);
  return flags;
}

Json rate(const Spread& spread) {
  return {{"n", spread.n},
          {"median_bytes_per_s", spread.median},
          {"low_bytes_per_s", spread.low},
          {"high_bytes_per_s", spread.high}};
}

void print_json(const ExpertBenchOptions& options, const MachineNote& note,
                const ExpertBenchResult& result) {
  Json out{{"benchmark", "experts"}, {"device", result.device}};
  out.update(note_json(note));
  out["memory_bytes"] = options.bytes;
  out["shape"] = {{"dim", options.shape.dim},
                  {"moe_inter", options.shape.moe_inter},
                  {"experts_a_call", options.experts}};
  out["copy"] = rate(result.copy_bytes_per_s);
  out["lines"] = Json::array();
  for (const ExpertBenchLine& line : result.lines) {
    out["lines"].push_back({{"format", format_info(line.format).name},
                            {"rows", line.rows},
                            {"blobs", line.blobs},
                            {"blob_bytes", line.blob_bytes},
                            {"call_us", line.call_us},
                            {"read", rate(line.bytes_per_s)},
                            {"ratio", line.bytes_per_s.median / result.copy_bytes_per_s.median}});
  }
  std::printf("%s\n", out.dump(2).c_str());
}

void print_table(const ExpertBenchOptions& options, const MachineNote& note,
                 const ExpertBenchResult& result) {
  std::printf("%s; %s\n", result.device.c_str(), note_line(note).c_str());
  std::printf(
      "%.2f GiB of experts of %d x %d, %d of them a call; its copy: %.0f GB/s (%.0f-%.0f)\n",
      static_cast<double>(options.bytes) * 0x1p-30, options.shape.dim, options.shape.moe_inter,
      options.experts, result.copy_bytes_per_s.median * 1e-9, result.copy_bytes_per_s.low * 1e-9,
      result.copy_bytes_per_s.high * 1e-9);
  std::printf("%-8s %4s  %8s  %-24s  %s\n", "format", "rows", "us/call", "GB/s (quarters)",
              "ratio");
  for (const ExpertBenchLine& line : result.lines) {
    std::printf("%-8s %4d  %8.1f  %6.0f (%.0f-%.0f)%10s  %5.3f\n", format_info(line.format).name,
                line.rows, line.call_us, line.bytes_per_s.median * 1e-9,
                line.bytes_per_s.low * 1e-9, line.bytes_per_s.high * 1e-9, "",
                line.bytes_per_s.median / result.copy_bytes_per_s.median);
  }
}

}  // namespace

Status experts_command(std::span<const char* const> words) {
  Arguments a;
  const std::vector<Flag> flags = experts_flags(a);
  ROTA_RETURN_IF_ERROR(parse_flags(words, flags));
  if (a.common.help) {
    std::printf(
        "rota-bench experts: whole experts (gate, up, SwiGLU, down) through the GPU's kernels, as\n"
        "graphs of layer calls, beside the device's largest copy (read + written), in turn\n\n%s\n"
        "Example:\n  rota-bench experts --formats Q3_K,Q2_0 --rows 1,4\n",
        flags_help(flags).c_str());
    return Status();
  }
  ROTA_RETURN_IF_ERROR(check_memory({{"experts", "--gib", a.options.bytes}}, memory_available()));
  MachineNote note = note_machine();
  BenchProgress progress(a.common.progress);
  ROTA_ASSIGN_OR_RETURN(
      const ExpertBenchResult result,
      run_expert_bench(a.options, [&progress](int done, int all, Format format, int rows) {
        progress.at(done, all,
                    std::string(format_info(format).name) + ", rows " + std::to_string(rows));
      }));
  note.load_after = load_average();
  if (a.common.json) {
    print_json(a.options, note, result);
  } else {
    print_table(a.options, note, result);
  }
  return Status();
}

}  // namespace rota
