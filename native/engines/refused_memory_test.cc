#include "engines/refused_memory.h"

#include <doctest/doctest.h>

#include <new>
#include <system_error>

using namespace rota;

TEST_CASE("refusals that are thrown become out of memory; other ends of a step stay") {
  CHECK(catch_refusals([] { return Status(); }).ok());
  CHECK(catch_refusals([] { return Status(Code::kLoad, "x"); }).code() == Code::kLoad);
  const Status heap = catch_refusals([]() -> Status { throw std::bad_alloc(); });
  CHECK(heap.code() == Code::kOutOfMemory);
  CHECK(heap.message() == "the system refused memory");
  const Status thread = catch_refusals([]() -> Status {
    throw std::system_error(EAGAIN, std::generic_category(), "cannot start compute thread 3 of 9");
  });
  CHECK(thread.code() == Code::kOutOfMemory);
  CHECK(thread.message().starts_with("cannot start compute thread 3 of 9"));
}

TEST_CASE("a refusal names the bytes and the knob of the largest part that has one") {
  const std::vector<MemoryNeed> needs = {{"arena", "--arena", uint64_t{2} << 30},
                                         {"dense weights", nullptr, uint64_t{8} << 30},
                                         {"context", "--ctx", uint64_t{1} << 30},
                                         {"draft experts", "--depth", 0}};
  const Status refused(Code::kOutOfMemory, "window cache: cannot allocate 5 bytes");
  CHECK(explain_refusal(refused, needs).message() ==
        "out of memory: window cache: cannot allocate 5 bytes; asked in all 11.00 GiB (arena 2.00 "
        "GiB, dense weights 8.00 GiB, context 1.00 GiB); lower --arena");
  CHECK(explain_refusal(refused, {}).message() ==
        "out of memory: window cache: cannot allocate 5 bytes; no knob lowers what reading a "
        "model's headers takes");
  const Status guard(Code::kOutOfMemory, "out of memory: asked 1 GiB; lower --ctx");
  CHECK(explain_refusal(guard, needs).message() == guard.message());
  CHECK(explain_refusal(Status(Code::kIo, "x"), needs).message() == "x");
}
