// What a search promises: never worse than the plain encoder, and exactly what the file will hold.
#include "quantise/scales.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "formats/block.h"
#include "quantise/quantise_fixture.h"

namespace rota {
namespace {

constexpr Format kFormats[] = {Format::kPTQ1_0, Format::kQ2_0, Format::kQ3_K};
constexpr size_t kRows = 12, kColumns = 512;

// Sums of uniform values, near a bell, with a few large ones.
std::vector<float> bell(uint64_t seed) {
  std::vector<float> w(kRows * kColumns, 0.0f);
  for (uint64_t part = 0; part < 4; ++part) {
    const std::vector<float> more = test_values(seed + part, w.size(), 0.02);
    for (size_t i = 0; i < w.size(); ++i) w[i] += more[i];
  }
  for (size_t i = 0; i < w.size(); i += 97) w[i] *= 3;
  return w;
}

std::vector<float> importances(uint64_t seed) {
  std::vector<float> h = test_values(seed, kColumns);
  for (float& value : h) value = std::exp(3 * value);
  return h;
}

double weighted_error(const std::vector<float>& w, const std::vector<float>& values,
                      const std::vector<float>& h) {
  double sum = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    const double off = static_cast<double>(w[i]) - static_cast<double>(values[i]);
    sum += static_cast<double>(h[i % kColumns]) * off * off;
  }
  return sum;
}

std::vector<float> decoded(Format format, const std::vector<uint8_t>& bytes) {
  std::vector<float> out(kRows * kColumns);
  decode_row(format, bytes.data(), out.data(), out.size());
  return out;
}

TEST_CASE("what is packed decodes to step * code, every bit") {
  const std::vector<float> w = bell(1), h = importances(2);
  for (const Format format : kFormats) {
    CAPTURE(format_info(format).name);
    const CodeRule& rule = code_rule(format);
    const Scales scales = search_scales(format, w.data(), kRows, kColumns, h.data());
    // Codes that no encoder would choose, all of the format's among them.
    std::vector<int8_t> codes(w.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      const int span = rule.high - rule.low + 1;
      codes[i] = static_cast<int8_t>(rule.low + static_cast<int>(i * 7 % 11) % span);
    }
    const std::vector<float> values = decoded(format, pack_rows(scales, codes));
    for (size_t i = 0; i < codes.size(); ++i) {
      const float step = scales.step(i / kColumns, i % kColumns / rule.group);
      REQUIRE(values[i] == step * static_cast<float>(codes[i]));
    }
  }
}

TEST_CASE("searched scales are better than the plain encoder's, by the importance that was given") {
  const std::vector<float> w = bell(3), h = importances(4);
  for (const Format format : kFormats) {
    CAPTURE(format_info(format).name);
    const Scales scales = search_scales(format, w.data(), kRows, kColumns, h.data());
    const double searched =
        weighted_error(w, decoded(format, pack_rows(scales, nearest_codes(w.data(), scales))), h);
    std::vector<uint8_t> plain(kRows * row_bytes(format, kColumns).value());
    encode_row(format, w.data(), plain.data(), w.size());
    CHECK(searched < 0.9 * weighted_error(w, decoded(format, plain), h));
    // And importance matters: searched for another one, they are worse for this one.
    const std::vector<float> flat(kColumns, 1.0f);
    const Scales other = search_scales(format, w.data(), kRows, kColumns, flat.data());
    CHECK(searched <
          weighted_error(w, decoded(format, pack_rows(other, nearest_codes(w.data(), other))), h));
  }
}

TEST_CASE("codes that are lopsided are turned round where that is better") {
  std::vector<float> w(kRows * kColumns);
  for (size_t i = 0; i < w.size(); ++i) w[i] = i % 3 == 0 ? -2.0f : i % 3 == 1 ? 1.0f : -1.0f;
  const std::vector<float> h(kColumns, 1.0f);
  const Scales scales = search_scales(Format::kQ2_0, w.data(), kRows, kColumns, h.data());
  CHECK(scales.step(0, 0) == -1.0f);
  CHECK(decoded(Format::kQ2_0, pack_rows(scales, nearest_codes(w.data(), scales))) == w);
}

TEST_CASE("a format's own values are found again") {
  const std::vector<float> h(kColumns, 1.0f);
  for (const Format format : kFormats) {
    CAPTURE(format_info(format).name);
    const CodeRule& rule = code_rule(format);
    std::vector<float> w(kRows * kColumns);
    for (size_t i = 0; i < w.size(); ++i) {
      const int code = rule.low + static_cast<int>(i) % (rule.high - rule.low + 1);
      w[i] = 0.03125f * static_cast<float>(code);
    }
    const Scales scales = search_scales(format, w.data(), kRows, kColumns, h.data());
    CHECK(decoded(format, pack_rows(scales, nearest_codes(w.data(), scales))) == w);
  }
}

TEST_CASE("zeros stay zeros") {
  const std::vector<float> w(kRows * kColumns, 0.0f), h(kColumns, 1.0f);
  for (const Format format : kFormats) {
    const Scales scales = search_scales(format, w.data(), kRows, kColumns, h.data());
    const std::vector<float> values =
        decoded(format, pack_rows(scales, nearest_codes(w.data(), scales)));
    CHECK(std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }));
  }
}

}  // namespace
}  // namespace rota
