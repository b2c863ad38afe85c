#include "bench/command_flags.h"

#include <doctest/doctest.h>

namespace rota {
namespace {

TEST_CASE("a flag for a GPU alone takes cuda:N and nothing else") {
  int gpu = 7;
  CHECK(gpu_number(gpu)("cuda:3").ok());
  CHECK(gpu == 3);
  CHECK(gpu_number(gpu)("host").message() == "\"host\" has no kernels here: cuda:N");
  CHECK(gpu_number(gpu)("3").message() == "\"3\" is unknown: host or cuda:N");
  CHECK(gpu == 3);
}

}  // namespace
}  // namespace rota
