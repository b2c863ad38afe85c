#include <doctest/doctest.h>

#include <functional>

#include "device/cuda/both_devices.h"

namespace rota {
namespace {

struct Scoring {
  int heads, dim, rows, first, ratio;
  KeyFormat format;
  int groups() const { return (first + rows) / ratio; }
};

std::vector<float> scores_of(OnDevice& on, const Scoring& s, int first, int rows) {
  const size_t width = static_cast<size_t>(s.heads * s.dim), at = static_cast<size_t>(first);
  const int groups = s.groups();
  KeyRows keys{s.format, s.dim, {}};
  keys.data = on.room<uint8_t>(static_cast<size_t>(groups) * keys.row_bytes());
  on.device.store_keys(on.put(test_values(1, static_cast<size_t>(groups * s.dim))), groups, 0, keys,
                       groups);
  IndexArgs args;
  args.rows = rows, args.heads = s.heads, args.head_dim = s.dim;
  args.first_position = s.first + first, args.ratio = s.ratio;
  args.q = on.put(test_values(2, static_cast<size_t>(s.rows) * width)) + at * width;
  args.weights = on.put(test_values(3, static_cast<size_t>(s.rows * s.heads))) +
                 at * static_cast<size_t>(s.heads);
  args.keys = keys;
  const DevPtr<float> scores = on.room<float>(static_cast<size_t>(rows * groups));
  args.scores = scores, args.score_stride = groups;
  on.device.index_scores(args);
  return on.get(scores, static_cast<size_t>(rows * groups));
}

constexpr Scoring kScorings[] = {{32, 128, 3, 3000, 1, KeyFormat::kFp4E8m0Block32},
                                 {16, 32, 7, 40, 2, KeyFormat::kF32},
                                 {20, 64, 5, 0, 2, KeyFormat::kF16},
                                 {64, 128, 2, 30, 1, KeyFormat::kF32}};

TEST_CASE("index scores: the host's answers, and no group that a row does not see") {
  for (const Scoring& s : kScorings) {
    const auto run = [&](OnDevice& on) { return scores_of(on, s, 0, s.rows); };
    // Products of heads: chains of dim / 8 on the host, dim on the GPU, of terms whose magnitudes
    // sum up to dim / 3 or so and dim at most; then a sum over heads of weights below 1.
    const double roundings = s.dim / 8.0 + s.dim + s.heads + 12;
    check_near("index scores of " + std::to_string(s.heads), on_gpu(run), on_host(run),
               s.heads * s.dim / 4.0, roundings);
  }
}

TEST_CASE("index scores: a row's bits are its own, and the same again") {
  for (const Scoring& s : kScorings) {
    const auto rows_of = [&](int first, int rows) {
      return on_gpu([&](OnDevice& on) { return scores_of(on, s, first, rows); });
    };
    const std::vector<float> all = rows_of(0, s.rows);
    CHECK(equal_bits(all, rows_of(0, s.rows)));
    const size_t groups = static_cast<size_t>(s.groups());
    for (int row = 0; row < s.rows; ++row) {
      const std::vector<float> one = rows_of(row, 1);
      CHECK(std::memcmp(one.data(), &all[static_cast<size_t>(row) * groups],
                        groups * sizeof(float)) == 0);
    }
  }
}

// What a row of given scores chooses.
struct Choice {
  std::vector<int> counts, lists;
  std::vector<uint8_t> pool;
};

struct Selecting {
  int rows, first, ratio, block_size, blocks, top_k;
  bool pooled;
};

Choice choose(OnDevice& on, const Selecting& s, const std::vector<float>& scores) {
  const int groups = (s.first + s.rows) / s.ratio;
  const int blocks = groups / s.block_size + 1;
  const size_t rows = static_cast<size_t>(s.rows), width = static_cast<size_t>(s.top_k);
  IndexArgs args;
  args.rows = s.rows, args.first_position = s.first, args.ratio = s.ratio;
  const DevPtr<float> at = on.put(scores);
  args.scores = at, args.score_stride = groups;
  const DevPtr<uint8_t> keep = on.put(std::vector<uint8_t>(rows * static_cast<size_t>(blocks), 9));
  const DevPtr<int> list = on.put(std::vector<int>(rows * width, -1)), count = on.room<int>(rows);
  on.device.candidate_pool(args, s.block_size, s.blocks, keep, blocks);
  on.device.select_groups(args, s.pooled ? keep : DevPtr<uint8_t>(), blocks, s.block_size, s.top_k,
                          list, s.top_k, count);
  return {on.get(count, rows), on.get(list, rows * width),
          on.get(keep, rows * static_cast<size_t>(blocks))};
}

constexpr Selecting kSelectings[] = {
    {4, 0, 1, 4, 3, 8, true},        {9, 30, 2, 3, 4, 6, false}, {5, 3000, 1, 8, 100, 512, true},
    {3, 5000, 1, 8, 16, 512, false}, {2, 100, 1, 1, 5, 7, true}, {1, 40000, 1, 64, 64, 512, true}};

void check_choices(const std::function<float(size_t)>& score) {
  for (const Selecting& s : kSelectings) {
    CAPTURE(s.first);
    std::vector<float> scores(static_cast<size_t>(s.rows * ((s.first + s.rows) / s.ratio)));
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = score(i);
    const auto run = [&](OnDevice& on) { return choose(on, s, scores); };
    const Choice gpu = on_gpu(run), host = on_host(run);
    CHECK(gpu.counts == host.counts);
    CHECK(gpu.lists == host.lists);
    CHECK(gpu.pool == host.pool);
  }
}

TEST_CASE("the chosen groups and pools are the host's, whatever the scores") {
  const std::vector<float> values = test_values(11, 1 << 18, 50);
  check_choices([&](size_t i) { return values[i]; });
  // Ties everywhere: the lowest index wins. Zeros of both signs are equal.
  check_choices([](size_t) { return 0.f; });
  check_choices([](size_t i) { return i % 3 == 0 ? 0.f : -0.f; });
  check_choices([](size_t i) { return static_cast<float>(i * 7919 % 13) - 6.f; });
  check_choices([](size_t i) {
    return std::ldexp(i % 2 == 0 ? 1.f : -1.f, static_cast<int>(i % 200) - 140);
  });
}

}  // namespace
}  // namespace rota
