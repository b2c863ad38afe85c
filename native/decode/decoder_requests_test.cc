// How a request ends and is refused, and scoring.
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/sha256.h"
#include "decode/logits_file.h"
#include "decode/toy_model.h"

namespace rota {

TEST_CASE("a stop id ends the answer and is its last token, also inside a verified block") {
  Bench bench;
  const GenerateResult plain = bench.generate(request_of(30), 0);
  for (size_t at = 0; at < plain.ids.size(); ++at) {
    GenerateRequest request = request_of(30);
    request.stop = {plain.ids[at]};
    const auto first = std::find(plain.ids.begin(), plain.ids.end(), plain.ids[at]);
    const std::vector<int> expected(plain.ids.begin(), first + 1);
    for (const int depth : {0, 5}) {
      const GenerateResult r = bench.generate(request, depth);
      CHECK(r.ids == expected);
      CHECK(r.finish == Finish::kStop);
      check_books(r);
    }
  }
  GenerateRequest request = request_of(40);
  request.ignore_eos = false;
  const GenerateResult r = bench.generate(request, 0);
  if (r.finish == Finish::kStop) CHECK(r.ids.back() == 1);
  CHECK(std::find(r.ids.begin(), r.ids.end() - 1, 1) == r.ids.end() - 1);
}

TEST_CASE("requests that cannot be served say why, with numbers") {
  Bench bench;
  Decoder decoder = bench.decoder(0);
  const auto message = [&](const GenerateRequest& request) {
    const auto r = decoder.generate(request, 0, bench.cancelled, nullptr);
    CHECK(r.status().code() == Code::kBadRequest);
    return r.status().message();
  };
  GenerateRequest request = request_of(1);
  request.prompt.clear();
  CHECK(message(request) == "the prompt has no tokens");
  request = request_of(0);
  CHECK(message(request) == "max_new is 0: at least 1");
  request = request_of(5);
  request.prompt[2] = 7;
  CHECK(message(request) == "prompt[2] is 7: token ids are 0..6");
  bench.model.set_image_id(4);
  request = request_of(5);
  const auto image = decoder.generate(request, 0, bench.cancelled, nullptr);
  CHECK(image.status().code() == Code::kUnsupported);
  CHECK(image.status().message() ==
        "prompt[1]: token 4 stands for an image: vision is not supported, the engine serves the "
        "text model alone");
  bench.model.set_image_id(-1);
  request = request_of(5);
  request.stop = {-1};
  CHECK(message(request) == "stop[0] is -1: token ids are 0..6");
  CHECK(message(request_of(58)) ==
        "a prompt of 7 tokens + max_new 58 = 65 positions, the context holds 64 (--ctx)");
  CHECK(bench.generate(request_of(57), 5).ids.size() == 57);
}

TEST_CASE("a cancelled request keeps what it has") {
  Bench bench;
  Decoder decoder = bench.decoder(0);
  int tokens = 0;
  const auto r =
      decoder.generate(request_of(30), 0, bench.cancelled, [&](std::span<const int> ids) {
        tokens += static_cast<int>(ids.size());
        if (tokens == 5) bench.cancelled = true;
      });
  REQUIRE(r.ok());
  CHECK(r.value().ids.size() == 5);
  CHECK(r.value().finish == Finish::kCancelled);
  const auto before = decoder.generate(request_of(30), 0, bench.cancelled, nullptr);
  REQUIRE(before.ok());
  CHECK(before.value().ids.empty());
  CHECK(before.value().prefill.passes == 0);
}

TEST_CASE("a failed pass is the request's error, and the next request works") {
  Bench bench;
  Decoder decoder = bench.decoder(0);
  bench.experts.fail = true;
  CHECK(decoder.generate(request_of(5), 0, bench.cancelled, nullptr).status().message() ==
        "disk on fire");
  bench.experts.fail = false;
  CHECK(decoder.generate(request_of(5), 0, bench.cancelled, nullptr)->ids.size() == 5);
}

TEST_CASE("scoring gives log-probabilities, best tokens and the same numbers for any batch") {
  Bench bench;
  ScoreRequest request;
  request.tokens = {3, 4, 5, 2, 6, 0, 3};
  const auto score = [&](int batch) {
    Decoder decoder = bench.decoder(0, 0, batch);
    auto r = decoder.score(request, bench.cancelled);
    REQUIRE(r.ok());
    return std::move(r).value();
  };
  const ScoreResult r = score(3);
  REQUIRE(r.logprobs.size() == 6);
  const auto logits = ToyModel::row({3, 4}, 0);
  double sum = 0;
  for (const float v : logits) sum += std::exp(static_cast<double>(v));
  CHECK(r.logprobs[1] == doctest::Approx(static_cast<double>(logits[5]) - std::log(sum)));
  CHECK(r.top1[1] == argmax(logits));
  CHECK(r.next == argmax(ToyModel::row({0, 3}, 0)));
  CHECK(score(1).logprobs == r.logprobs);
  CHECK(score(16).logits_sha256 == r.logits_sha256);
  request.tokens = {3};
  CHECK(bench.decoder(0).score(request, bench.cancelled).status().message() ==
        "score needs at least 2 tokens, got 1");
}

TEST_CASE("scored tokens are read as decode reads them from where that is asked, one a pass") {
  Bench bench;
  Decoder decoder = bench.decoder(0);
  ScoreRequest request;
  request.tokens = {3, 4, 5, 2, 6, 0, 3};
  const auto as_prompt = decoder.score(request, bench.cancelled);
  REQUIRE(as_prompt.ok());
  CHECK(as_prompt.value().prompt_sha256 == as_prompt.value().logits_sha256);
  request.decode_from = 3;
  bench.experts.passes.clear();
  const auto r = decoder.score(request, bench.cancelled);
  REQUIRE(r.ok());
  CHECK(bench.experts.passes == std::vector<PassKind>{PassKind::kPrefill, PassKind::kDecode,
                                                      PassKind::kDecode, PassKind::kDecode,
                                                      PassKind::kDecode});
  // The toy's experts change nothing, so the numbers are the same.
  CHECK(r.value().logprobs == as_prompt.value().logprobs);
  CHECK(r.value().top1 == as_prompt.value().top1);
  CHECK(r.value().logits_sha256 == as_prompt.value().logits_sha256);
  const auto last = ToyModel::row({4, 5}, 0);
  CHECK(r.value().prompt_sha256 == sha256_hex(last.data(), last.size() * sizeof(float)));
  for (const int from : {0, 7}) {
    request.decode_from = from;
    CHECK(decoder.score(request, bench.cancelled).status().message() ==
          "decode_from is " + std::to_string(from) + ": 1..6 of these tokens");
  }
  request.decode_from.reset();
  request.logits_from = 6;
  CHECK(decoder.score(request, bench.cancelled).status().message() ==
        "logits_from is 6: 0..5 of these tokens");
}

TEST_CASE("a logits file holds the rows that were asked for, and its own digest") {
  Bench bench;
  TempDir folder;
  Decoder decoder = bench.decoder(0);
  ScoreRequest request;
  request.tokens = {3, 4, 5, 2, 6, 0, 3};
  request.logits_out = folder / "rows";
  request.logits_from = 2;
  const auto r = decoder.score(request, bench.cancelled);
  REQUIRE(r.ok());
  REQUIRE(r.value().logits_file);
  CHECK(r.value().logits_file->first_row == 2);
  CHECK(r.value().logits_file->rows == 4);
  const std::string bytes = read_file(request.logits_out);
  REQUIRE(bytes.size() == 64 + 4 * kVocab * sizeof(float));
  CHECK(bytes.substr(0, 8) == "ROTALGTS");
  std::array<uint32_t, 6> words;
  std::memcpy(words.data(), bytes.data() + 8, sizeof words);
  CHECK(words == std::array<uint32_t, 6>{1, kVocab, 2, 4, 0, 0});
  std::string expected;
  for (int row = 2; row < 6; ++row) {
    const auto at = static_cast<size_t>(row);
    const auto logits = ToyModel::row({request.tokens[at - 1], request.tokens[at]}, 0);
    expected.append(reinterpret_cast<const char*>(logits.data()), logits.size() * sizeof(float));
  }
  CHECK(bytes.substr(64) == expected);
  const std::string digest = sha256_hex(expected.data(), expected.size());
  CHECK(r.value().logits_file->sha256 == digest);
  CHECK(hex([&] {
          Sha256::Digest stored;
          std::memcpy(stored.data(), bytes.data() + 32, stored.size());
          return stored;
        }()) == digest);

  // Never over what somebody else wrote.
  const Status again = decoder.score(request, bench.cancelled).status();
  CHECK(again.code() == Code::kIo);
  CHECK(again.message() == "logits_out " + request.logits_out + ": cannot be made: File exists");
}

TEST_CASE("nothing stays of a logits file that could not be written whole") {
  Bench bench;
  TempDir folder;
  Decoder decoder = bench.decoder(0);
  ScoreRequest request;
  request.tokens = {3, 4, 5};
  request.logits_out = folder / "rows";
  bench.experts.fail = true;
  CHECK(decoder.score(request, bench.cancelled).status().message() == "disk on fire");
  CHECK(!std::filesystem::exists(request.logits_out));
  bench.experts.fail = false;
  request.logits_out = "/proc/rows";
  CHECK(decoder.score(request, bench.cancelled).status().code() == Code::kIo);
  const auto file = LogitsFile::create(folder / "huge", 1 << 30, 0, 1 << 30);
  CHECK(file.status().code() == Code::kIo);
  CHECK(file.status().message().find("1073741824 rows of 1073741824 logits need "
                                     "4611686018427387968 bytes, the disk has ") !=
        std::string::npos);
  CHECK(!std::filesystem::exists(folder / "huge"));
}

}  // namespace rota
