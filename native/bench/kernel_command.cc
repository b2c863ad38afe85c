// rota-bench kernels: flags -> KernelBenchOptions, and the table.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/flags.h"
#include "bench/command_flags.h"
#include "bench/commands.h"
#include "bench/device_kernels.h"
#include "bench/kernel_bench.h"
#include "bench/machine_note.h"
#include "device/device_choice.h"

namespace rota {
namespace {

// Of the host's kernels, or of the dense linears of a GPU.
struct KernelFlags {
  std::optional<int> cuda;
  bool formats = false, rows = false, variants = false, json = false, help = false;
};

std::vector<Flag> kernel_flags(KernelBenchOptions& o, KernelFlags& given) {
  return {{"--device", "NAME",
           "host, or cuda:N: the dense linears of an NVIDIA GPU beside a copy of its memory "
           "(default host)",
           [&given](const std::string& text) -> Status {
             ROTA_ASSIGN_OR_RETURN(given.cuda, parse_device(text));
             return Status();
           }},
          {"--formats", "LIST",
           "block formats (default Q8_0,Q3_K,Q2_0,PTQ1_0; of a GPU Q8_0,MXFP8,BF16,F16,F32)",
           [&o, &given](const std::string& text) -> Status {
             given.formats = true;
             return format_list(o.formats)(text);
           }},
          {"--rows", "LIST", "rows of a call (default 1,2,4,6,16; of a GPU 8 too)",
           [&o, &given](const std::string& text) -> Status {
             given.rows = true;
             return row_list(o.rows)(text);
           }},
          {"--variants", "LIST", "of portable,avx2,avx512 (default: the one in use)",
           [&o, &given](const std::string& text) {
             given.variants = true;
             o.variants = split_list(text);
             return Status();
           }},
          {"--seconds", "S", "a cell; the shortest pass counts (default 0.3)",
           [&o](const std::string& text) -> Status {
             ROTA_ASSIGN_OR_RETURN(o.seconds, parse_number(text, 0, 60));
             return Status();
           }},
          {"--json", nullptr, "one JSON object instead of a table",
           [&given](const std::string&) { return given.json = true, Status(); }},
          {"--help", nullptr, "this text",
           [&given](const std::string&) { return given.help = true, Status(); }}};
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

Status device_kernels(const KernelBenchOptions& options, const KernelFlags& given) {
  if (given.variants) {
    return Status(Code::kUsage, "--variants are the CPU's: they are no choice of --device cuda:N");
  }
  DeviceBenchOptions device;
  device.index = *given.cuda;
  if (given.formats) device.formats = options.formats;
  if (given.rows) device.rows = options.rows;
  for (const Format format : device.formats) {
    if (!is_weight_format(format)) {
      return Status(Code::kUsage, std::string(format_info(format).name) + " is no weight format");
    }
  }
  ROTA_ASSIGN_OR_RETURN(const DeviceBenchResult result, run_device_bench(device));
  print_device_kernels(result, given.json);
  return Status();
}

}  // namespace

Status kernels_command(std::span<const char* const> words) {
  KernelBenchOptions options;
  KernelFlags given;
  const std::vector<Flag> flags = kernel_flags(options, given);
  ROTA_RETURN_IF_ERROR(parse_flags(words, flags));
  if (given.help) {
    std::printf(
        "rota-bench kernels: one core's integer matrix kernels, with the weights in L2 and from\n"
        "memory, the shortest of many passes; or a GPU's dense linears, matrices in turn\n\n%s\n"
        "Example:\n  rota-bench kernels --variants avx2,avx512 --rows 1\n",
        flags_help(flags).c_str());
    return Status();
  }
  if (given.cuda) return device_kernels(options, given);
  ROTA_ASSIGN_OR_RETURN(const KernelResult result, run_kernel_bench(options));
  given.json ? print_json(result) : print_table(result);
  return Status();
}

}  // namespace rota
