// Printing.
#include "bench/device_kernels.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace rota {

void print_device_kernels(const DeviceBenchResult& result, bool json) {
  if (json) {
    nlohmann::ordered_json out{{"benchmark", "kernels"},
                               {"device", result.device},
                               {"copy_bytes_per_s", result.copy_bytes_per_s}};
    for (const DeviceCell& c : result.cells) {
      out["cells"].push_back({{"format", format_info(c.format).name},
                              {"out", c.out},
                              {"in", c.in},
                              {"rows", c.rows},
                              {"seconds", c.seconds},
                              {"bytes_per_s", c.bytes_per_s},
                              {"of_copy", c.bytes_per_s / result.copy_bytes_per_s}});
    }
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  std::printf("%s; a copy reads and writes %.0f GB/s\n", result.device.c_str(),
              result.copy_bytes_per_s * 1e-9);
  std::printf("%-7s %12s %4s  %9s  %8s  %s\n", "format", "matrix", "rows", "us", "GB/s",
              "of a copy");
  for (const DeviceCell& c : result.cells) {
    const std::string shape = std::to_string(c.out) + "x" + std::to_string(c.in);
    std::printf("%-7s %12s %4d  %9.2f  %8.0f  %.3f\n", format_info(c.format).name, shape.c_str(),
                c.rows, c.seconds * 1e6, c.bytes_per_s * 1e-9,
                c.bytes_per_s / result.copy_bytes_per_s);
  }
}

}  // namespace rota
