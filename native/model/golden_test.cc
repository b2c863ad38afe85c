// The model against the numbers of golden/oracle.py (written by golden/make_goldens.py).
#include <doctest/doctest.h>

#include <filesystem>

#include "model/golden_file.h"
#include "model/sequence_fixture.h"

namespace rota {
namespace {

constexpr double kTolerance =
    1e-4;  // of logits with a standard deviation of 1; two implementations differ by 6e-6

// Everything the file says of one model, read in its order.
struct Numbers {
  struct Draft {
    std::vector<int> ids;  // position, token, drafts
    std::vector<float> conf, logits;
  };
  std::vector<int> prompt;
  std::vector<float> logits;
  std::vector<Draft> drafts;
  std::vector<float> first_window, source_window, stream, index_keys, draft_context, rounded_logits;
  std::vector<int> selection;  // [rows, index_topk], padded with -1

  explicit Numbers(const std::string& name) {
    GoldenFile file(
        (std::filesystem::path(__FILE__).parent_path() / "golden" / (name + ".bin")).string());
    prompt = file.ints();
    logits = file.floats();
    for (int i = 0; i < 3; ++i) {
      Draft draft;
      draft.ids = file.ints();
      draft.conf = file.floats();
      draft.logits = file.floats();
      drafts.push_back(draft);
    }
    first_window = file.floats();
    source_window = file.floats();
    stream = file.floats();
    index_keys = file.floats();
    draft_context = file.floats();
    selection = file.ints();
    rounded_logits = file.floats();
    CHECK(file.at_end());
  }
};

constexpr const char* kModels[] = {"mini-xs", "mini-xs2"};

TEST_CASE("the prompts reach beyond every mechanism's first case") {
  CHECK(static_cast<int>(Numbers("mini-xs").prompt.size()) >
        test_model("mini-xs").config().rope_original_len);
  for (const char* name : kModels) {
    const Config& c = test_model(name).config();
    const int n = static_cast<int>(Numbers(name).prompt.size());
    CHECK(n > c.window);
    CHECK(n / 2 > 2 * c.index_topk);
    CHECK(n > c.candidate_blocks * c.candidate_block_size);
  }
}

TEST_CASE(
    "logits of every prompt row are the oracle's, in one pass, in chunks and token by token") {
  for (const char* name : kModels) {
    const Numbers golden(name);
    for (const int chunk : {90, 1, 5, 32}) {
      CAPTURE(name);
      CAPTURE(chunk);
      TestSequence sequence(name, {.kv_quant = false});
      const std::vector<float> logits = sequence.run(golden.prompt, chunk);
      REQUIRE(logits.size() == golden.logits.size());
      CHECK(largest_difference(logits.data(), golden.logits) < kTolerance);
    }
  }
}

TEST_CASE("logits after every partial accept are the oracle's") {
  for (const char* name : kModels) {
    const Numbers golden(name);
    const size_t vocab = static_cast<size_t>(test_model(name).config().vocab);
    const std::span<const int> prompt(golden.prompt);
    for (const size_t start : {32u, 47u}) {
      for (size_t accepted = 0; accepted <= 5; ++accepted) {
        CAPTURE(accepted);
        TestSequence sequence(name, {.kv_quant = false});
        sequence.run(prompt.first(start), 16);
        std::vector<int> rows(prompt.begin() + static_cast<std::ptrdiff_t>(start),
                              prompt.begin() + static_cast<std::ptrdiff_t>(start) + 6);
        for (size_t i = accepted + 1; i < 6; ++i) rows[i] = (rows[i] + 1) % static_cast<int>(vocab);
        sequence.pass(rows, PassKind::kVerify);
        const size_t kept = start + accepted + 1;
        REQUIRE(sequence.model().truncate(static_cast<int>(kept)).ok());
        const std::vector<float> logits = sequence.pass(prompt.subspan(kept, 4), PassKind::kDecode);
        const std::vector<float> expected(
            golden.logits.begin() + static_cast<std::ptrdiff_t>(kept * vocab),
            golden.logits.begin() + static_cast<std::ptrdiff_t>((kept + 4) * vocab));
        CHECK(largest_difference(logits.data(), expected) < kTolerance);
      }
    }
  }
}

TEST_CASE("drafts, their logits and confidences are the oracle's") {
  for (const char* name : kModels) {
    const Numbers golden(name);
    for (const Numbers::Draft& expected : golden.drafts) {
      const int position = expected.ids[0], depth = static_cast<int>(expected.ids.size()) - 2;
      CAPTURE(name);
      CAPTURE(position);
      TestSequence sequence(name, {.kv_quant = false});
      REQUIRE(depth == sequence.config().draft_block);
      sequence.run(std::span(golden.prompt).first(static_cast<size_t>(position)), 7);
      DraftOut draft;
      REQUIRE(sequence.model()
                  .draft(expected.ids[1], depth, sequence.draft_experts(), nullptr, &draft)
                  .ok());
      CHECK(std::equal(draft.ids, draft.ids + depth, expected.ids.begin() + 2));
      CHECK(largest_difference(draft.conf, expected.conf) < kTolerance);
      CHECK(largest_difference(sequence.model().draft_logits(depth), expected.logits) < kTolerance);
      // A shallower draft is the beginning of the deeper one.
      DraftOut shallow;
      REQUIRE(sequence.model()
                  .draft(expected.ids[1], 2, sequence.draft_experts(), nullptr, &shallow)
                  .ok());
      CHECK(std::equal(shallow.ids, shallow.ids + 2, expected.ids.begin() + 2));
    }
  }
}

// Share of codes that differ. A rounding boundary between two implementations' values flips a code
// (1e-6 an element), and what follows from a flip may flip more; a rounding that is missing,
// doubled or in the wrong place moves most codes.
double flipped(const KeyRows& cache, const std::vector<float>& golden) {
  int different = 0;
  const auto dim = static_cast<size_t>(cache.dim);
  std::vector<float> row(dim);
  for (size_t i = 0; i < golden.size(); ++i) {
    if (i % dim == 0) decode_key_row(cache.format, cache.row(i / dim), dim, row.data());
    different += row[i % dim] != golden[i];
  }
  return different / static_cast<double>(golden.size());
}

// Share of rows whose last published selection differs; the index query's rounding shows nowhere
// else.
double moved_lists(const Core& core, const std::vector<int>& golden) {
  const size_t width = static_cast<size_t>(core.config.index_topk), rows = golden.size() / width;
  size_t moved = 0;
  for (size_t r = 0; r < rows; ++r) {
    const int* list = core.buffers.list.address() + r * width;
    std::vector<int> padded(list, list + core.buffers.list_count.address()[r]);
    padded.resize(width, -1);
    moved += !std::equal(padded.begin(), padded.end(),
                         golden.begin() + static_cast<std::ptrdiff_t>(r * width));
  }
  return static_cast<double>(moved) / static_cast<double>(rows);
}

TEST_CASE("with the caches' rounding on, each cache holds the oracle's codes") {
  for (const auto& [name, kv] : {std::pair{kModels[0], KvKind::kF32},
                                 {kModels[1], KvKind::kF32},
                                 {kModels[0], KvKind::kPacked},
                                 {kModels[1], KvKind::kPacked}}) {
    CAPTURE(name);
    const Numbers golden(name);
    TestSequence sequence(name, {.kv_quant = true, .kv = kv});
    const Config& c = sequence.config();
    const size_t rows = golden.first_window.size() / static_cast<size_t>(c.head_dim);
    sequence.run(std::span(golden.prompt).first(rows), static_cast<int>(rows));
    const Caches& caches = sequence.core().caches;
    const size_t source = static_cast<size_t>(c.kv_source[0]);
    CHECK(golden.stream.size() ==
          rows / static_cast<size_t>(c.ratios[source]) * static_cast<size_t>(c.head_dim));
    CHECK(flipped(caches.windows[0], golden.first_window) <= 0.002);
    CHECK(flipped(caches.windows[source], golden.source_window) <= 0.01);
    CHECK(flipped(caches.streams[source].keys, golden.stream) <= 0.01);
    CHECK(flipped(caches.streams[source].index_keys, golden.index_keys) <= 0.01);
    // All layers stand before it, so one flipped code anywhere moves a share of a row's.
    CHECK(flipped(caches.draft_contexts.back(), golden.draft_context) <= 0.1);
    CHECK(moved_lists(sequence.core(), golden.selection) <= 0.2);
  }
}

TEST_CASE("with every rounding on, logits are the oracle's except where a code flipped") {
  for (const char* name : kModels) {
    CAPTURE(name);
    const Numbers golden(name);
    TestSequence sequence(name, {.kv_quant = true, .act_quant = true});
    const size_t vocab = static_cast<size_t>(sequence.config().vocab),
                 rows = golden.rounded_logits.size() / vocab;
    const std::vector<float> logits = sequence.run(std::span(golden.prompt).first(rows), 3);
    size_t equal_rows = 0;
    for (size_t r = 0; r < rows; ++r) {
      const auto first = golden.rounded_logits.begin() + static_cast<std::ptrdiff_t>(r * vocab);
      equal_rows +=
          largest_difference(&logits[r * vocab],
                             {first, first + static_cast<std::ptrdiff_t>(vocab)}) < kTolerance;
    }
    // A flip spoils its row and may spoil those behind it.
    CHECK(equal_rows * 2 >= rows);
  }
}

}  // namespace
}  // namespace rota
