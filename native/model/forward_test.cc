// One path for prefill, chunks, decode and verification: the same bits whatever the rows, the
// threads and the history.
#include <doctest/doctest.h>

#include <algorithm>

#include "model/sequence_fixture.h"

namespace rota {
namespace {

constexpr const char* kModels[] = {"mini-xs", "mini-xs2"};

std::vector<float> prefill(const char* name, const TestOptions& options,
                           std::span<const int> tokens, int chunk) {
  TestSequence sequence(name, options);
  return sequence.run(tokens, chunk);
}

TEST_CASE("prefill, chunks of any size and decode give the same bits") {
  for (const char* name : kModels) {
    for (const bool kv_quant : {true, false}) {
      const std::vector<int> tokens = test_tokens(test_model(name).config(), 3, 90);
      const TestOptions options{.kv_quant = kv_quant};
      const std::vector<float> whole = prefill(name, options, tokens, 90);
      const std::vector<int> chunks =
          kv_quant ? std::vector{1, 2, 3, 4, 7, 33} : std::vector{1, 16};
      for (const int chunk : chunks) {
        CAPTURE(name);
        CAPTURE(chunk);
        REQUIRE(same_bits(prefill(name, options, tokens, chunk), whole));
      }
    }
  }
}

TEST_CASE("the number of threads changes no bit") {
  for (const char* name : kModels) {
    const std::vector<int> tokens = test_tokens(test_model(name).config(), 4, 60);
    const std::vector<float> alone = prefill(name, {}, tokens, 60);
    for (const int threads : {1, 2, 5})
      CHECK(same_bits(prefill(name, {.threads = threads}, tokens, 20), alone));
  }
}

TEST_CASE("the most rows a pass may have sizes the rings and changes no bit") {
  const std::vector<int> tokens = test_tokens(test_model("mini-xs").config(), 5, 70);
  const std::vector<float> roomy = prefill("mini-xs", {.max_rows = 90}, tokens, 5);
  for (const int max_rows : {5, 6, 17})
    CHECK(same_bits(prefill("mini-xs", {.max_rows = max_rows}, tokens, 5), roomy));
}

TEST_CASE("activation rounding keeps the rows apart too") {
  const std::vector<int> tokens = test_tokens(test_model("mini-xs").config(), 6, 40);
  const TestOptions rounded{.act_quant = true};
  const std::vector<float> whole = prefill("mini-xs", rounded, tokens, 40);
  CHECK(same_bits(prefill("mini-xs", rounded, tokens, 7), whole));
  CHECK_FALSE(same_bits(prefill("mini-xs", {}, tokens, 40), whole));
}

TEST_CASE("asking for fewer logits changes none of those asked for") {
  const std::vector<int> tokens = test_tokens(test_model("mini-xs").config(), 7, 9);
  TestSequence sequence("mini-xs", {});
  const std::vector<float> all = sequence.pass(tokens, PassKind::kPrefill);
  REQUIRE(sequence.model().truncate(0).ok());
  REQUIRE(sequence.model().forward(tokens, PassKind::kPrefill, sequence.experts(), 8).ok());
  const size_t vocab = static_cast<size_t>(sequence.config().vocab);
  CHECK(std::equal(all.end() - static_cast<std::ptrdiff_t>(vocab), all.end(),
                   sequence.model().logits(8)));
}

TEST_CASE("after every partial accept the sequence is one that never saw the rejected rows") {
  for (const char* name : kModels) {
    const Config& config = test_model(name).config();
    const int offered = config.draft_block, vocab = config.vocab;
    for (const int start : {20, 43}) {  // both parities of the open group
      const std::vector<int> tokens = test_tokens(config, 8, static_cast<size_t>(start));
      const std::vector<int> after = test_tokens(config, 9, 12);
      for (int accepted = 0; accepted <= offered; ++accepted) {
        CAPTURE(name);
        CAPTURE(start);
        CAPTURE(accepted);
        // The verified rows: a committed token, `accepted` drafts that hold and the rest that do
        // not.
        std::vector<int> rows(after.begin(), after.begin() + accepted + 1);
        while (static_cast<int>(rows.size()) < offered + 1)
          rows.push_back((rows.back() + 1 + static_cast<int>(rows.size())) % vocab);
        const TestOptions options{.max_rows = offered + 1};
        TestSequence rolled(name, options), fresh(name, options);
        rolled.run(tokens, offered + 1);
        const std::vector<float> verified = rolled.pass(rows, PassKind::kVerify);
        REQUIRE(rolled.model().truncate(start + accepted + 1).ok());
        REQUIRE(rolled.model().commit_draft_context(accepted + 1).ok());

        fresh.run(tokens, 1);
        std::vector<float> stepped =
            fresh.run(std::span(after).first(static_cast<size_t>(accepted + 1)), 1);
        CHECK(std::equal(stepped.begin(), stepped.end(), verified.begin()));

        const std::span<const int> rest =
            std::span(after).subspan(static_cast<size_t>(accepted + 1));
        DraftOut a, b;
        REQUIRE(rolled.model().draft(rest[0], offered, rolled.draft_experts(), nullptr, &a).ok());
        REQUIRE(fresh.model().draft(rest[0], offered, fresh.draft_experts(), nullptr, &b).ok());
        CHECK(std::equal(a.ids, a.ids + offered, b.ids));
        CHECK(std::equal(a.conf, a.conf + offered, b.conf));
        const float* logits = rolled.model().draft_logits(offered);
        CHECK(std::equal(logits, logits + offered * vocab, fresh.model().draft_logits(offered)));
        CHECK(same_bits(rolled.run(rest, 1), fresh.run(rest, 1)));
      }
    }
  }
}

TEST_CASE("greedy speculation is plain greedy, token for token") {
  for (const char* name : kModels) {
    const std::vector<int> prompt = test_tokens(test_model(name).config(), 10, 17);
    TestSequence plain(name, {}), drafted(name, {});
    const int vocab = plain.config().vocab, block = plain.config().draft_block;
    std::vector<float> last = plain.run(prompt, 17);
    std::vector<int> expected = {argmax(last.data() + 16 * vocab, vocab)};
    while (expected.size() < 60) {
      last = plain.pass({&expected.back(), 1}, PassKind::kDecode);
      expected.push_back(argmax(last.data(), vocab));
    }
    last = drafted.run(prompt, 17);
    std::vector<int> got = {argmax(last.data() + 16 * vocab, vocab)};
    while (got.size() < 60) {
      DraftOut draft;
      REQUIRE(
          drafted.model().draft(got.back(), block, drafted.draft_experts(), nullptr, &draft).ok());
      std::vector<int> rows = {got.back()};
      rows.insert(rows.end(), draft.ids, draft.ids + block);
      // Every third pass the right tokens are offered, so that whole and partial accepts happen
      // too.
      for (size_t i = 1; i < rows.size() && got.size() % 3 == 0; ++i) {
        if (got.size() + i - 1 < expected.size()) rows[i] = expected[got.size() + i - 1];
      }
      const int start = drafted.model().position();
      const std::vector<float> logits = drafted.pass(rows, PassKind::kVerify);
      int accepted = 0;
      while (accepted < block && argmax(logits.data() + accepted * vocab, vocab) ==
                                     rows[static_cast<size_t>(accepted + 1)])
        ++accepted;
      got.insert(got.end(), rows.begin() + 1, rows.begin() + 1 + accepted);
      got.push_back(argmax(logits.data() + accepted * vocab, vocab));
      REQUIRE(drafted.model().commit_draft_context(accepted + 1).ok());
      REQUIRE(drafted.model().truncate(start + accepted + 1).ok());
    }
    got.resize(60);
    CHECK(got == expected);
  }
}

TEST_CASE("truncating to the start is a fresh sequence, after any length") {
  const std::vector<int> tokens = test_tokens(test_model("mini-xs").config(), 11, 100);
  TestSequence used("mini-xs", {.max_rows = 30}), fresh("mini-xs", {.max_rows = 30});
  used.run(tokens, 30);
  REQUIRE(used.model().truncate(0).ok());
  CHECK(used.model().position() == 0);
  const std::span<const int> again = std::span(tokens).subspan(50);
  CHECK(same_bits(used.run(again, 30), fresh.run(again, 30)));
}

TEST_CASE("an older position is reachable exactly as long as its window is held") {
  const Config& config = test_model("mini-xs").config();
  const std::vector<int> tokens = test_tokens(config, 12, 60);
  for (const int back : {0, 1, 20, 48, 49, 50, 51, 55, 59}) {
    CAPTURE(back);
    TestSequence sequence("mini-xs", {.max_rows = 10});
    sequence.run(tokens, 10);
    const Status status = sequence.model().truncate(back);
    // The ring holds window + max_rows positions; a target row needs window - 1 before it, a draft
    // window of them.
    const bool held = back == 0 || back - config.window >= 60 - (config.window + 10);
    REQUIRE(status.ok() == held);
    if (!held) {
      CHECK(status.code() == Code::kBadRequest);
      CHECK(sequence.model().position() == 60);
      continue;
    }
    TestSequence fresh("mini-xs", {.max_rows = 10});
    if (back > 0) fresh.run(std::span(tokens).first(static_cast<size_t>(back)), 10);
    const std::span<const int> rest = std::span(tokens).first(7);
    CHECK(same_bits(sequence.run(rest, 7), fresh.run(rest, 7)));
  }
}

}  // namespace
}  // namespace rota
