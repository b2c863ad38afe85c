// Attention and index scores over cached keys in every format: those over the same keys as floats,
// bit for bit.
#include <doctest/doctest.h>

#include <cstring>

#include "device/host/host_device.h"
#include "device/host/test_values.h"

namespace rota {
namespace {

constexpr int kDim = 64, kHeads = 2, kSlots = 40, kGroups = 300, kListed = 16;

struct Held {
  std::vector<uint8_t> bytes;
  KeyRows rows;
  Held(KeyFormat format, int count) : rows{format, kDim, {}} {
    bytes.resize(static_cast<size_t>(count) * rows.row_bytes());
    rows.data = DevPtr<uint8_t>(bytes.data());
  }
};

struct Answer {
  std::vector<float> scores, out;
};

// Keys are stored as `format`, positions from `first` on into a ring; then read back by the
// device's own operations.
Answer answer(Device& d, KeyFormat ring_format, KeyFormat group_format,
              const std::vector<float>& ring_keys, const std::vector<float>& group_keys, int rows) {
  const std::vector<float> q = test_values(6, static_cast<size_t>(rows * kHeads * kDim)),
                           sinks = test_values(9, kHeads), block = test_values(12, 3 * kDim),
                           weights = test_values(10, static_cast<size_t>(rows * kHeads));
  Held ring(ring_format, kSlots), groups(group_format, kGroups);
  const int first = 2 * kGroups - rows;
  d.store_keys(DevPtr<const float>(ring_keys.data()), kSlots, first, ring.rows, kSlots);
  d.store_keys(DevPtr<const float>(group_keys.data()), kGroups, 0, groups.rows, kGroups);
  Answer a{std::vector<float>(static_cast<size_t>(rows * kGroups)), std::vector<float>(q.size())};
  IndexArgs index;
  index.rows = rows;
  index.heads = kHeads;
  index.head_dim = kDim;
  index.first_position = first;
  index.ratio = 2;
  index.q = DevPtr<const float>(q.data());
  index.weights = DevPtr<const float>(weights.data());
  index.keys = groups.rows;
  index.scores = DevPtr<float>(a.scores.data());
  index.score_stride = kGroups;
  d.index_scores(index);
  std::vector<int> list(static_cast<size_t>(rows * kListed)), counts(static_cast<size_t>(rows));
  for (size_t i = 0; i < list.size(); ++i) {
    list[i] = static_cast<int>(i % kListed * 11 + i / kListed % 7);
  }
  for (size_t r = 0; r < counts.size(); ++r) counts[r] = static_cast<int>(r % (kListed + 1));
  AttentionArgs args;
  args.rows = rows;
  args.heads = kHeads;
  args.head_dim = kDim;
  args.first_position = 5;
  args.window = 20;
  args.scale = .125f;
  args.q = DevPtr<const float>(q.data());
  args.sinks = DevPtr<const float>(sinks.data());
  args.ring = ring.rows;
  args.ring_slots = kSlots;
  args.block = DevPtr<const float>(block.data());
  args.block_rows = 3;
  args.listed_keys = groups.rows;
  args.list = DevPtr<const int>(list.data());
  args.list_count = DevPtr<const int>(counts.data());
  args.list_stride = kListed;
  args.out = DevPtr<float>(a.out.data());
  d.attention(args);
  return a;
}

// The values that rows of a format hold.
std::vector<float> held(KeyFormat format, const std::vector<float>& keys) {
  std::vector<float> out(keys.size());
  std::vector<uint8_t> row(key_row_bytes(format, kDim));
  for (size_t at = 0; at < keys.size(); at += kDim) {
    encode_key_row(format, keys.data() + at, kDim, row.data());
    decode_key_row(format, row.data(), kDim, out.data() + at);
  }
  return out;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_CASE("keys are read as the floats that their rows hold, with any threads") {
  const std::vector<float> ring = test_values(7, kSlots * kDim),
                           groups = test_values(8, kGroups * kDim);
  ThreadPool pool({.threads = 3, .pin = false});
  for (const int rows : {1, 6}) {
    for (const KeyFormat format : {KeyFormat::kF16, KeyFormat::kFp8Block32,
                                   KeyFormat::kFp4E8m0Block32, KeyFormat::kFp4E4m3Block16}) {
      CAPTURE(static_cast<int>(format));
      const auto floats = make_host_device(nullptr);
      const Answer expected = answer(*floats, KeyFormat::kF32, KeyFormat::kF32, held(format, ring),
                                     held(format, groups), rows);
      for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
        const Answer seen = answer(*make_host_device(threads), format, format, ring, groups, rows);
        CHECK(same(seen.scores, expected.scores));
        CHECK(same(seen.out, expected.out));
      }
      // One kind of keys in codes and the other in floats.
      const Answer mixed =
          answer(*floats, KeyFormat::kF32, format, held(format, ring), groups, rows);
      CHECK(same(mixed.out, expected.out));
    }
  }
}

TEST_CASE("a pass with more keys than are decoded at a time is cut into bands of rows") {
  const std::vector<float> ring = test_values(7, kSlots * kDim),
                           groups = test_values(8, kGroups * kDim);
  const int rows = 596;  // a mebi of floats holds 420 rows of 39 keys
  const auto device = make_host_device(nullptr);
  const Answer all = answer(*device, KeyFormat::kFp8Block32, KeyFormat::kF32, ring, groups, rows);
  const Answer floats = answer(*device, KeyFormat::kF32, KeyFormat::kF32,
                               held(KeyFormat::kFp8Block32, ring), groups, rows);
  CHECK(same(all.out, floats.out));
}

}  // namespace
}  // namespace rota
