// rota-bench experts in a build without CUDA: says how to get one.
#include "bench/commands.h"

namespace rota {

Status experts_command(std::span<const char* const>) {
  return Status(Code::kLoad,
                "this build has no CUDA; cmake --preset cuda builds one with it (CUDA 13)");
}

}  // namespace rota
