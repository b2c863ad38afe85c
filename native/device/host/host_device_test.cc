// The CPU device: no cut over threads changes a bit, and memory behaves.
#include "device/host/host_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "device/host/test_values.h"
#include "formats/numbers.h"

namespace rota {
namespace {

DevPtr<const float> in(const std::vector<float>& v) { return DevPtr<const float>(v.data()); }
DevPtr<float> out(std::vector<float>& v) { return DevPtr<float>(v.data()); }

// The same operation on the caller alone and on pools of several sizes; the bits must agree.
void check_threads(size_t results,
                   const std::function<void(Device&, std::vector<float>&)>& operation) {
  std::vector<float> alone(results, -1.f);
  operation(*make_host_device(nullptr), alone);
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool({.threads = threads, .pin = false});
    const std::unique_ptr<Device> device = make_host_device(&pool);
    std::vector<float> together(results, -2.f);
    operation(*device, together);
    REQUIRE(std::memcmp(alone.data(), together.data(), results * sizeof(float)) == 0);
  }
}

Matrix f32_matrix(const std::vector<float>& w, int outputs, int inputs) {
  return {Format::kF32, outputs, inputs,
          DevPtr<const uint8_t>(reinterpret_cast<const uint8_t*>(w.data())), w.size() * 4};
}

TEST_CASE("linear: threads change no bit") {
  const std::vector<float> w = test_values(1, 333 * 512), x = test_values(2, 5 * 512);
  check_threads(5 * 333, [&](Device& d, std::vector<float>& y) {
    d.linear(f32_matrix(w, 333, 512), in(x), 5, out(y));
  });
}

TEST_CASE("grouped linear: group g reads its own inputs, and threads change no bit") {
  const int groups = 3, k = 256, per_group = 37, rows = 4;
  const std::vector<float> w = test_values(3, groups * per_group * k),
                           x = test_values(4, rows * groups * k);
  const Matrix matrix = f32_matrix(w, groups * per_group, k);
  check_threads(rows * groups * per_group, [&](Device& d, std::vector<float>& y) {
    d.grouped_linear(matrix, groups, in(x), rows, out(y));
  });
  std::vector<float> y(rows * groups * per_group), one(per_group);
  const std::unique_ptr<Device> device = make_host_device(nullptr);
  device->grouped_linear(matrix, groups, in(x), rows, out(y));
  for (size_t r = 0; r < rows; ++r) {
    for (size_t g = 0; g < groups; ++g) {
      const Matrix part{
          Format::kF32, per_group, k,
          DevPtr<const uint8_t>(reinterpret_cast<const uint8_t*>(&w[g * per_group * k])), 0};
      device->linear(part, DevPtr<const float>(&x[(r * groups + g) * k]), 1, out(one));
      REQUIRE(std::memcmp(one.data(), &y[(r * groups + g) * per_group],
                          per_group * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("gather decodes rows of any format") {
  const std::vector<float> values = test_values(5, 4 * 32);
  std::vector<uint8_t> table(4 * 34);
  for (size_t r = 0; r < 4; ++r) encode_row(Format::kQ8_0, &values[r * 32], &table[r * 34], 32);
  const Matrix matrix{Format::kQ8_0, 4, 32, DevPtr<const uint8_t>(table.data()), table.size()};
  std::vector<float> y(64), expected(64);
  const int ids[2] = {3, 1};
  make_host_device(nullptr)->gather(matrix, ids, 2, out(y));
  decode_row(Format::kQ8_0, &table[3 * 34], expected.data(), 32);
  decode_row(Format::kQ8_0, &table[34], &expected[32], 32);
  CHECK(y == expected);
}

TEST_CASE("attention and selection: threads change no bit") {
  const int rows = 6, heads = 8, dim = 64, groups = 300;
  const std::vector<float> q = test_values(6, rows * heads * dim), ring = test_values(7, 40 * dim),
                           keys = test_values(8, groups * dim), sinks = test_values(9, heads),
                           weights = test_values(10, rows * heads);
  check_threads(rows * heads * dim, [&](Device& d, std::vector<float>& y) {
    std::vector<float> scores(rows * groups);
    std::vector<uint8_t> keep(rows * groups);
    std::vector<int> list(rows * 16), counts(rows);
    IndexArgs index{rows,        heads, dim,         2 * groups - rows,
                    2,           in(q), in(weights), float_rows(keys, dim),
                    out(scores), groups};
    d.index_scores(index);
    d.candidate_pool(index, 4, 9, DevPtr<uint8_t>(keep.data()), groups);
    d.select_groups(index, DevPtr<const uint8_t>(keep.data()), groups, 4, 16,
                    DevPtr<int>(list.data()), 16, DevPtr<int>(counts.data()));
    AttentionArgs args;
    args.rows = rows;
    args.heads = heads;
    args.head_dim = dim;
    args.first_position = 2 * groups - rows;
    args.window = 20;
    args.scale = .125f;
    args.q = in(q);
    args.sinks = in(sinks);
    args.ring = float_rows(ring, dim);
    args.ring_slots = 40;
    args.listed_keys = float_rows(keys, dim);
    args.list = DevPtr<const int>(list.data());
    args.list_count = DevPtr<const int>(counts.data());
    args.list_stride = 16;
    args.out = out(y);
    d.attention(args);
    for (const int count : counts) REQUIRE(count == 16);
  });
}

TEST_CASE("the stream's operations: threads change no bit") {
  const int rows = 16, mult = 4, dim = 1024, coefficients = mult * (mult + 2);
  const std::vector<float> h0 = test_values(11, rows * mult * dim),
                           mix = test_values(12, rows * coefficients, 3.0),
                           base = test_values(13, coefficients), scale = {1, 2, 3},
                           y = test_values(14, rows * dim), weight = test_values(15, dim),
                           kv = test_values(16, rows * (mult + 1) * dim),
                           gates = test_values(17, mult * dim);
  check_threads(rows * dim, [&](Device& d, std::vector<float>& result) {
    std::vector<float> h = h0, pre(rows * mult), post(rows * mult), comb(rows * mult * mult);
    d.hc_coefficients({mult, 20, 1e-20f, 1e-6f}, in(h), dim, in(mix), in(base), in(scale), rows,
                      out(pre), out(post), out(comb));
    d.hc_expand(out(h), in(y), in(post), in(comb), rows, mult, dim);
    d.engram_gate(out(h), in(kv), in(gates), in(gates), rows, mult, dim, 1e-20f);
    d.hc_collapse(in(h), in(pre), rows, mult, dim, out(result));
    d.rms(in(result), in(weight), rows, dim, 1e-20f, out(result));
  });
}

TEST_CASE("routing: threads change no bit") {
  const int rows = 64, experts = 96, top_k = 6;
  const std::vector<float> logits = test_values(18, rows * experts, 4.0),
                           bias = test_values(19, experts);
  check_threads(rows * top_k, [&](Device& d, std::vector<float>& weights) {
    std::vector<int> ids(rows * top_k);
    d.route(in(logits), in(bias), {}, rows, experts, top_k, 1.5f, DevPtr<int>(ids.data()),
            out(weights));
    for (size_t i = 0; i < ids.size(); ++i) weights[i] += static_cast<float>(ids[i]);
  });
}

TEST_CASE("groups are compressed out of the ring they were written to, across its seam") {
  const int slots = 5, dim = 3;
  std::vector<float> kv(slots * dim), gate(slots * dim), result(2 * dim);
  const std::vector<float> kv_rows = test_values(20, 4 * dim), gate_rows = test_values(21, 4 * dim);
  const std::unique_ptr<Device> device = make_host_device(nullptr);
  device->ring_write(in(kv_rows), 4, dim, 8, out(kv),
                     slots);  // positions 8..11 in slots 3, 4, 0, 1
  device->ring_write(in(gate_rows), 4, dim, 8, out(gate), slots);
  CHECK(std::memcmp(&kv[3 * dim], &kv_rows[0], dim * sizeof(float)) == 0);
  CHECK(std::memcmp(&kv[0], &kv_rows[2 * dim], dim * sizeof(float)) == 0);
  device->compress(in(kv), in(gate), slots, 2, 4, 2, dim, out(result));
  for (size_t g = 0; g < 2; ++g) {
    for (size_t c = 0; c < dim; ++c) {
      const size_t a = 2 * g * dim + c, b = a + dim;
      const double ea = std::exp(static_cast<double>(gate_rows[a])),
                   eb = std::exp(static_cast<double>(gate_rows[b]));
      CHECK(result[g * dim + c] ==
            doctest::Approx((ea * kv_rows[a] + eb * kv_rows[b]) / (ea + eb)).epsilon(1e-6));
    }
  }
}

TEST_CASE("each rounding is the one it is named after") {
  const std::vector<float> x = test_values(22, 64, 3.0);
  const auto rounded = [&](FakeQuant kind) {
    std::vector<float> y = x;
    make_host_device(nullptr)->fake_quant(kind, out(y), y.size());
    return y;
  };
  const auto expected = [&](void (*fn)(float*, size_t)) {
    std::vector<float> y = x;
    fn(y.data(), y.size());
    return y;
  };
  CHECK(rounded(FakeQuant::kFp8Block32) == expected(fake_quant_fp8));
  CHECK(rounded(FakeQuant::kFp4E8m0Block32) == expected(fake_quant_fp4_e8m0));
  CHECK(rounded(FakeQuant::kFp4E4m3Block16) == expected(fake_quant_fp4_e4m3));
}

TEST_CASE(
    "roundings and the shared expert's middle: threads change no bit, a count of half a block is "
    "whole") {
  const size_t n = 60000 / 16 * 16;
  const std::vector<float> gate = test_values(24, n, 9.0), up = test_values(25, n, 9.0);
  for (const FakeQuant kind :
       {FakeQuant::kFp8Block32, FakeQuant::kFp4E8m0Block32, FakeQuant::kFp4E4m3Block16}) {
    const size_t count = kind == FakeQuant::kFp4E4m3Block16 ? n : n / 32 * 32;
    check_threads(count, [&](Device& d, std::vector<float>& y) {
      d.swiglu(in(gate), in(up), count, 7.f, out(y));
      d.add(in(up), count, out(y));
      d.scale(out(y), count, 0.37f);
      d.fake_quant(kind, out(y), count);
    });
  }
  std::vector<float> odd(gate.begin(), gate.begin() + 16), expected = odd;
  make_host_device(nullptr)->fake_quant(FakeQuant::kFp4E4m3Block16, out(odd), 16);
  fake_quant_fp4_e4m3(expected.data(), 16);
  CHECK(odd == expected);
}

TEST_CASE("memory comes zeroed and crosses both ways") {
  const std::unique_ptr<Device> device = make_host_device(nullptr);
  Result<void*> memory = device->allocate(100, "test");
  REQUIRE(memory.ok());
  const std::vector<float> sent = test_values(23, 5);
  std::vector<float> back(25, 1.f);
  device->download(back.data(), memory.value(), 100);
  CHECK(back == std::vector<float>(25, 0.f));
  device->upload(memory.value(), sent.data(), 20);
  device->copy(static_cast<float*>(memory.value()) + 5, memory.value(), 20);
  device->download(back.data(), memory.value(), 40);
  for (size_t i = 0; i < 5; ++i) {
    CHECK(back[i] == sent[i]);
    CHECK(back[5 + i] == sent[i]);
  }
  device->release(memory.value());
}

TEST_CASE("memory that cannot be had is an error with its size and purpose") {
  const Result<void*> memory = make_host_device(nullptr)->allocate(size_t{1} << 60, "window cache");
  REQUIRE_FALSE(memory.ok());
  CHECK(memory.status().code() == Code::kOutOfMemory);
  CHECK(memory.status().message() ==
        "window cache: cannot allocate 1152921504606846976 bytes of memory");
}

}  // namespace
}  // namespace rota
