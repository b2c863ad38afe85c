// A checkpoint's own golden.bin, which the training code wrote beside it, against the engine's
// model over the converted GGUF: names, formats, layouts and arithmetic all at once.
#include <doctest/doctest.h>

#include <filesystem>

#include "model/checkpoint_convert.h"
#include "model/golden_file.h"
#include "model/sequence_fixture.h"

namespace rota {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-4;  // of logits with a standard deviation near 1

// What golden.py writes for each prompt.
struct Prompt {
  std::vector<int> ids;
  std::vector<float> logits;  // of the last rows
  std::vector<int> draft;     // position, token, drafted ids
  std::vector<float> conf, draft_logits;
};

std::vector<Prompt> read_prompts(const std::string& path) {
  GoldenFile file(path);
  std::vector<Prompt> prompts;
  while (!file.at_end()) {
    Prompt& p = prompts.emplace_back();
    p.ids = file.ints();
    p.logits = file.floats();
    p.draft = file.ints();
    p.conf = file.floats();
    p.draft_logits = file.floats();
  }
  return prompts;
}

std::unique_ptr<WeightSource> converted(const fs::path& folder, const std::string& out) {
  const auto checkpoint = Checkpoint::open(folder.string());
  REQUIRE_MESSAGE(checkpoint.ok(), checkpoint.status().message());
  ConvertOptions options;
  options.out = out;
  const auto files = convert_checkpoint(*checkpoint.value(), options);
  REQUIRE_MESSAGE(files.ok(), files.status().message());
  auto source = WeightSource::open(out);
  REQUIRE_MESSAGE(source.ok(), source.status().message());
  return std::move(source).value();
}

void check_prompt(WeightSource& source, const Prompt& p) {
  TestSequence sequence(source, {.kv_quant = false});
  const std::vector<float> logits = sequence.run(p.ids, 7);
  REQUIRE(p.logits.size() >= static_cast<size_t>(sequence.config().vocab));
  const double target =
      largest_difference(logits.data() + (logits.size() - p.logits.size()), p.logits);
  const int depth = static_cast<int>(p.draft.size()) - 2;
  REQUIRE(depth == sequence.config().draft_block);
  REQUIRE(p.draft[0] == static_cast<int>(p.ids.size()));
  DraftOut draft;
  const Status drafted =
      sequence.model().draft(p.draft[1], depth, sequence.draft_experts(), nullptr, &draft);
  REQUIRE_MESSAGE(drafted.ok(), drafted.message());
  CHECK(std::equal(draft.ids, draft.ids + depth, p.draft.begin() + 2));
  const double drafts = largest_difference(sequence.model().draft_logits(depth), p.draft_logits);
  const double conf = largest_difference(draft.conf, p.conf);
  CAPTURE(target);
  CAPTURE(drafts);
  CAPTURE(conf);
  CHECK(target < kTolerance);
  CHECK(drafts < kTolerance);
  CHECK(conf < kTolerance);
}

TEST_CASE("the shipped model, converted, says what the code that trained it says") {
  const fs::path folder =
      fs::path(__FILE__).parent_path().parent_path() / "models" / "mini" / "checkpoint";
  const TempDir dir;
  const auto source = converted(folder, dir / "m.gguf");
  const std::vector<Prompt> prompts = read_prompts((folder / "golden.bin").string());
  REQUIRE(prompts.size() == 3);
  for (const Prompt& prompt : prompts) check_prompt(*source, prompt);
}

}  // namespace
}  // namespace rota
