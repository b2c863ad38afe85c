// Nothing is allocated per token. This file replaces the test binary's operator new by one that
// counts.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "model/sequence_fixture.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace rota {
namespace {

TEST_CASE("passes, drafts and rollbacks allocate nothing once each has happened") {
  for (const int threads : {0, 2}) {
    TestSequence sequence("mini-xs", {.threads = threads, .max_rows = 16});
    Model& model = sequence.model();
    RoutedExperts& experts = sequence.experts();
    const std::vector<int> tokens = test_tokens(sequence.config(), 30, 16);
    const auto round = [&] {
      DraftOut draft;
      const int start = model.position();
      bool ok = model.forward(tokens, PassKind::kPrefill, experts, 15).ok() &&
                model.commit_draft_context(16).ok();
      ok = ok && model.draft(tokens[0], 5, sequence.draft_experts(), nullptr, &draft).ok();
      ok = ok && model.forward(std::span(tokens).first(6), PassKind::kVerify, experts, 0).ok();
      ok = ok && model.truncate(start + 18).ok() && model.commit_draft_context(2).ok();
      return ok && model.forward(std::span(tokens).first(1), PassKind::kDecode, experts, 0).ok() &&
             model.commit_draft_context(1).ok();
    };
    for (int warm = 0; warm < 3; ++warm) REQUIRE(round());
    const int64_t before = allocations.load();
    const bool ok = round() && round();
    const int64_t after = allocations.load();
    REQUIRE(ok);
    CHECK(after == before);
  }
}

}  // namespace
}  // namespace rota
