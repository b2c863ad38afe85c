// rota-bench kernels: flags -> KernelBenchOptions, and the table.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/flags.h"
#include "bench/command_flags.h"
#include "bench/commands.h"
#include "bench/kernel_bench.h"
#include "bench/machine_note.h"

namespace rota {
namespace {

std::vector<Flag> kernel_flags(KernelBenchOptions& o, bool& json, bool& help) {
  return {{"--formats", "LIST", "block formats (default Q8_0,Q3_K,Q2_0,PTQ1_0)",
           [&o](const std::string& text) -> Status {
             o.formats.clear();
             for (const std::string& word : split_list(text)) {
               ROTA_ASSIGN_OR_RETURN(const Format format, parse_format(word));
               o.formats.push_back(format);
             }
             return Status();
           }},
          {"--rows", "LIST", "rows of a call (default 1,2,4,6,16)",
           [&o](const std::string& text) -> Status {
             o.rows.clear();
             for (const std::string& word : split_list(text)) {
               ROTA_ASSIGN_OR_RETURN(const int rows, parse_int(word, 1, 1024));
               o.rows.push_back(rows);
             }
             return Status();
           }},
          {"--variants", "LIST", "of portable,avx2,avx512 (default: the one in use)",
           [&o](const std::string& text) { return o.variants = split_list(text), Status(); }},
          {"--seconds", "S", "a cell; the shortest pass counts (default 0.3)",
           [&o](const std::string& text) -> Status {
             ROTA_ASSIGN_OR_RETURN(o.seconds, parse_number(text, 0, 60));
             return Status();
           }},
          {"--json", nullptr, "one JSON object instead of a table",
           [&json](const std::string&) { return json = true, Status(); }},
          {"--help", nullptr, "this text",
           [&help](const std::string&) { return help = true, Status(); }}};
}

void print_json(const KernelResult& result) {
  nlohmann::ordered_json out{{"benchmark", "kernels"},
                             {"cpu", note_machine().cpu},
                             {"hertz", result.hertz},
                             {"read_bytes_per_s", result.read_bytes_per_s}};
  for (const KernelCell& cell : result.cells) {
    out["cells"].push_back({{"variant", cell.variant},
                            {"format", format_info(cell.format).name},
                            {"rows", cell.rows},
                            {"near_weights_per_cycle", cell.near_weights_per_cycle},
                            {"near_bytes_per_s", cell.near_bytes_per_s},
                            {"far_bytes_per_s", cell.far_bytes_per_s}});
  }
  std::printf("%s\n", out.dump(2).c_str());
}

void print_table(const KernelResult& result) {
  std::printf("%s at %.2f GHz; one core reads %.2f GB/s\n", note_machine().cpu.c_str(),
              result.hertz * 1e-9, result.read_bytes_per_s * 1e-9);
  std::printf("%-9s %-7s %4s  %13s  %11s  %15s  %s\n", "variant", "format", "rows", "L2: weights/c",
              "L2: GB/s", "memory: GB/s", "of reading");
  for (const KernelCell& c : result.cells) {
    std::printf("%-9s %-7s %4d  %13.2f  %11.2f  %15.2f  %.3f\n", c.variant.c_str(),
                format_info(c.format).name, c.rows, c.near_weights_per_cycle,
                c.near_bytes_per_s * 1e-9, c.far_bytes_per_s * 1e-9,
                c.far_bytes_per_s / result.read_bytes_per_s);
  }
}

}  // namespace

Status kernels_command(std::span<const char* const> words) {
  KernelBenchOptions options;
  bool json = false, help = false;
  const std::vector<Flag> flags = kernel_flags(options, json, help);
  ROTA_RETURN_IF_ERROR(parse_flags(words, flags));
  if (help) {
    std::printf(
        "rota-bench kernels: one core's integer matrix kernels, with the weights in L2 and from\n"
        "memory; the shortest of many passes\n\n%s\nExample:\n"
        "  rota-bench kernels --variants avx2,avx512 --rows 1\n",
        flags_help(flags).c_str());
    return Status();
  }
  ROTA_ASSIGN_OR_RETURN(const KernelResult result, run_kernel_bench(options));
  json ? print_json(result) : print_table(result);
  return Status();
}

}  // namespace rota
