// Counts of draft experts: their text, who is kept by them, and the refusals.
#include "experts/draft_counts.h"

#include <doctest/doctest.h>

#include "base/temp_dir.h"
#include "experts/draft_experts.h"
#include "experts/fake_blobs.h"

namespace rota {
namespace {

using Kept = std::vector<uint8_t>;

Result<DraftCounts> parse(const std::string& text) {
  return DraftCounts::parse(text, "c.txt", 2, 4);
}

TEST_CASE("the heaviest experts of each stage are kept, the lowest number of equals") {
  const auto counts =
      parse("# all\n0 0 5\n0 1 9\n0 2 5\n0 3 1\n\n1 3 7\n1 2 0 # none\n1 1 0\n1 0 0\n");
  REQUIRE(counts.ok());
  CHECK(counts.value().entries(0) == 4);
  CHECK(counts.value().heaviest(1, 1).value() == Kept{0, 1, 0, 0, 0, 0, 0, 1});
  CHECK(counts.value().heaviest(2, 2).value() == Kept{1, 1, 0, 0, 1, 0, 0, 1});
  CHECK(counts.value().heaviest(3, 2).value() == Kept{1, 1, 1, 0, 1, 1, 0, 1});
  CHECK(counts.value().heaviest(4, 2).value().empty());
}

TEST_CASE("what cannot be kept is refused with the stage, its entries and the number") {
  const auto counts = parse("0 0 5\n0 1 9\n0 2 5\n0 3 1\n1 3 7\n1 0 2\n1 1 0\n");
  REQUIRE(counts.ok());
  CHECK(counts.value().heaviest(192, 1).status().message() ==
        "stage 0 has 4 entries, fewer than the 192 to keep");
  CHECK(counts.value().heaviest(4, 1).status().message() ==
        "stage 1 has 3 entries, fewer than the 4 to keep");
  CHECK(counts.value().heaviest(1, 2).status().message() ==
        "stage 0 has 4 entries and routes each row to 2 experts, more than the 1 to keep");
  CHECK(counts.value().heaviest(4, 1).status().code() == Code::kUsage);
  // Those of the file are kept, though the drafter has one more.
  CHECK(counts.value().heaviest(3, 1).value() == Kept{1, 1, 1, 0, 1, 1, 0, 1});
}

TEST_CASE("a line that is no count is refused with file and line") {
  const auto why = [](const std::string& text) { return parse(text).status().message(); };
  CHECK(why("0 1\n") == "c.txt:1: a line is \"stage expert count\", three whole numbers");
  CHECK(why("\n0 1 2 3\n") == "c.txt:2: a line is \"stage expert count\", three whole numbers");
  CHECK(why("0 1 -2\n") == "c.txt:1: a line is \"stage expert count\", three whole numbers");
  CHECK(why("0 1 x\n") == "c.txt:1: a line is \"stage expert count\", three whole numbers");
  CHECK(why("2 1 1\n") ==
        "c.txt:1: stage 2 expert 1 is not in the drafter (stages 0..1, experts 0..3)");
  CHECK(why("1 4 1\n") ==
        "c.txt:1: stage 1 expert 4 is not in the drafter (stages 0..1, experts 0..3)");
  CHECK(why("1 3 1\n1 3 1\n") == "c.txt:2: stage 1 expert 3 is listed twice");
  CHECK(DraftCounts::read("/nowhere", 1, 1).status().message() ==
        "/nowhere: cannot open: No such file or directory");
}

TEST_CASE("counts come back from their file, every expert with an entry") {
  const TempDir folder;
  DraftCounts counts(2, 3);
  counts.add(1, 2);
  counts.add(1, 2);
  counts.add(0, 1);
  REQUIRE(counts.write(folder / "counts.txt").ok());
  const auto again = DraftCounts::read(folder / "counts.txt", 2, 3);
  REQUIRE(again.ok());
  CHECK(again.value().text() == counts.text());
  CHECK(again.value().of(1, 2) == 2);
  CHECK(again.value().entries(0) == 3);
  CHECK(!std::filesystem::exists(folder / "counts.txt.new"));
  CHECK(counts.write("/nowhere/c.txt").message() ==
        "/nowhere/c.txt.new: cannot write: No such file or directory");
}

TEST_CASE(
    "pruned draft experts take no memory, are never chosen, and the kept ones keep their bits") {
  constexpr int kDim = 32, kTop = 2;
  const FakeBlobs blobs(2, 4, kDim, 32, {Format::kF32, Format::kQ8_0});
  ThreadPool threads(ThreadPoolOptions{.threads = 1, .pin = false});
  const ExpertShape shape{kDim, 32, 4, kTop, 10.f, false};
  const Kept kept{1, 0, 1, 1, 0, 1, 1, 0};
  auto all = DraftExperts::load(blobs, threads, shape);
  auto pruned = DraftExperts::load(blobs, threads, shape, kept);
  REQUIRE(all.ok());
  REQUIRE(pruned.ok());
  CHECK(all.value()->selection_bias(1) == nullptr);
  const float* bias = pruned.value()->selection_bias(1);
  REQUIRE(bias != nullptr);
  CHECK(bias[1] == 0);
  CHECK(bias[0] < -1e20f);
  uint64_t bytes = 0;
  for (int i = 0; i < 8; ++i) {
    if (kept[static_cast<size_t>(i)] != 0) bytes += blobs.layout(i / 4, i % 4).bytes;
  }
  CHECK(DraftExperts::load_bytes(blobs, kept) == bytes);
  CHECK(DraftExperts::load_bytes(blobs) > bytes);
  CHECK(pruned.value()->bytes() == DraftExperts::memory_bytes(blobs, kept));
  CHECK(pruned.value()->bytes() < all.value()->bytes());
  FakeCall call(2, kTop, 4, kDim, 3);
  call.ids = {2, 1, 1, 2};
  std::vector<float> a(2 * kDim), b(2 * kDim);
  for (auto* experts : {&all, &pruned}) {
    std::vector<float>& y = experts == &all ? a : b;
    REQUIRE(experts->value()
                ->run(1, 2, kTop, call.ids.data(), call.weights.data(), call.x.data(), y.data())
                .ok());
  }
  CHECK(a == b);
  CHECK(pruned.value()->counts().of(1, 1) == 2);
  CHECK(pruned.value()->counts().of(1, 2) == 2);
  CHECK(pruned.value()->counts().of(0, 1) == 0);
  pruned.value()->reset();
  CHECK(pruned.value()->counts().of(1, 1) == 0);
}

}  // namespace
}  // namespace rota
