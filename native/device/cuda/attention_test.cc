#include <doctest/doctest.h>

#include "device/cuda/both_devices.h"

namespace rota {
namespace {

struct Case {
  const char* name;
  int heads, dim, rows, first, window, block, listed;
  bool causal;
  KeyFormat ring_format, listed_format;
};

constexpr int kGroups = 700;

// Rows [first, first + rows) of the case's; keys and lists are those of all of them.
std::vector<float> answer(OnDevice& on, const Case& c, int first, int rows) {
  const int slots = c.window + c.rows;
  const auto size = [](int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); };
  const size_t width = size(c.heads, c.dim);
  ScratchSizes sizes;
  sizes.heads = c.heads, sizes.head_dim = c.dim, sizes.keys = c.window + c.block + c.listed;
  sizes.index_heads = 1, sizes.index_head_dim = 32;
  REQUIRE(on.device.reserve_scratch(sizes).ok());
  KeyRows ring{c.ring_format, c.dim, {}}, groups{c.listed_format, c.dim, {}};
  ring.data = on.room<uint8_t>(static_cast<size_t>(slots) * ring.row_bytes());
  groups.data = on.room<uint8_t>(kGroups * groups.row_bytes());
  on.device.store_keys(on.put(test_values(1, size(slots, c.dim))), slots, 0, ring, slots);
  on.device.store_keys(on.put(test_values(2, size(kGroups, c.dim))), kGroups, 0, groups, kGroups);
  std::vector<int> list(size(c.rows, std::max(c.listed, 1))), counts(static_cast<size_t>(c.rows));
  for (size_t i = 0; i < list.size(); ++i) list[i] = static_cast<int>(i * 37 % kGroups);
  for (size_t r = 0; r < counts.size(); ++r)
    counts[r] = std::max(0, c.listed - 3 * static_cast<int>(r));
  const size_t at = static_cast<size_t>(first);
  AttentionArgs args;
  args.rows = rows, args.heads = c.heads, args.head_dim = c.dim;
  args.first_position = c.first + (c.causal ? first : 0), args.window = c.window;
  args.causal = c.causal;
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.dim));
  args.q = on.put(test_values(3, static_cast<size_t>(c.rows) * width, 4)) + at * width;
  args.sinks = on.put(test_values(4, static_cast<size_t>(c.heads), 2));
  args.ring = ring, args.ring_slots = slots;
  args.block = on.put(test_values(5, size(std::max(c.block, 1), c.dim)));
  args.block_rows = c.block;
  if (c.listed > 0) {
    args.listed_keys = groups;
    args.list = on.put(list) + at * static_cast<size_t>(c.listed);
    args.list_count = on.put(counts) + at;
    args.list_stride = c.listed;
  }
  const DevPtr<float> out = on.room<float>(static_cast<size_t>(rows) * width);
  args.out = out;
  on.device.attention(args);
  return on.get(out, static_cast<size_t>(rows) * width);
}

constexpr Case kCases[] = {
    {"full shape", 64, 512, 3, 5000, 128, 0, 512, true, KeyFormat::kF32, KeyFormat::kF32},
    {"full shape, packed", 64, 512, 16, 5000, 128, 0, 512, true, KeyFormat::kFp8Block32,
     KeyFormat::kFp4E4m3Block16},
    {"fp16", 6, 64, 5, 90, 13, 0, 6, true, KeyFormat::kF16, KeyFormat::kF16},
    {"few heads, odd width", 3, 96, 4, 40, 20, 0, 9, true, KeyFormat::kF32,
     KeyFormat::kFp4E8m0Block32},
    {"a window alone, from the start", 8, 128, 33, 0, 16, 0, 0, true, KeyFormat::kF32,
     KeyFormat::kF32},
    {"a draft block", 4, 64, 5, 30, 8, 5, 0, false, KeyFormat::kFp8Block32, KeyFormat::kF32},
    {"a draft block at the start", 4, 64, 5, 0, 8, 5, 0, false, KeyFormat::kF32, KeyFormat::kF32},
};

TEST_CASE("attention: the host's answers") {
  for (const Case& c : kCases) {
    const auto run = [&](OnDevice& on) { return answer(on, c, 0, c.rows); };
    // A score is a chain of dim / 8 roundings on the host, dim / 32 and a tree on the GPU, of terms
    // whose magnitudes sum up to at most scale * 4 * dim; it moves its weight by as much. Weights
    // are positive and sum to at most 1, values are below 1: the mean takes their errors as they
    // are, and a chain of as many roundings as there are keys.
    const double keys = c.window + c.block + c.listed;
    const double score = 4 * std::sqrt(c.dim) / 3 * (c.dim / 8.0 + c.dim / 32.0 + 12);
    check_near(std::string("attention, ") + c.name, on_gpu(run), on_host(run), 1,
               score + 2 * keys + 20);
  }
}

TEST_CASE("attention: a row's bits are its own, whatever rows are beside it, and the same again") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const auto rows_of = [&](int first, int rows) {
      return on_gpu([&](OnDevice& on) { return answer(on, c, first, rows); });
    };
    const std::vector<float> all = rows_of(0, c.rows);
    CHECK(equal_bits(all, rows_of(0, c.rows)));
    const size_t width = static_cast<size_t>(c.heads * c.dim);
    for (int first = 0; first < c.rows; ++first) {
      const std::vector<float> one = rows_of(first, 1);
      CHECK(std::memcmp(one.data(), &all[static_cast<size_t>(first) * width],
                        width * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("attention: without a key there is no value") {
  const Case none{"none", 2, 64, 1, 0, 8, 0, 0, false, KeyFormat::kF32, KeyFormat::kF32};
  const auto run = [&](OnDevice& on) { return answer(on, none, 0, 1); };
  CHECK(on_gpu(run) == std::vector<float>(128, 0.f));
  CHECK(on_host(run) == std::vector<float>(128, 0.f));
}

TEST_CASE("shapes that the GPU does not compute are refused at load") {
  ScratchSizes wide;
  wide.heads = 1, wide.head_dim = 544, wide.keys = 8;
  const Status status = gpu_device().reserve_scratch(wide);
  CHECK(status.code() == Code::kLoad);
  CHECK(status.message() ==
        "the CUDA device computes heads of at most 512, not 544; use --device host");
}

}  // namespace
}  // namespace rota
