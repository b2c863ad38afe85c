// Tallies add up field by field.
#include "experts/counters.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

namespace rota {

TEST_CASE("the sum of a tally and itself is twice every number of it") {
  // A tally is 64-bit numbers only: filled as such, so that a field nobody thought of is summed or
  // found missing.
  constexpr size_t kNumbers = sizeof(ExpertTally) / sizeof(int64_t);
  static_assert(sizeof(ExpertTally) == kNumbers * sizeof(int64_t));
  int64_t numbers[kNumbers], doubled[kNumbers];
  for (size_t i = 0; i < kNumbers; ++i) numbers[i] = static_cast<int64_t>(i) + 1;
  ExpertTally one, sum;
  std::memcpy(&one, numbers, sizeof one);
  sum += one;
  sum += one;
  std::memcpy(doubled, &sum, sizeof sum);
  for (size_t i = 0; i < kNumbers; ++i) {
    CAPTURE(i);
    CHECK(doubled[i] == 2 * numbers[i]);
  }
}

TEST_CASE("blobs are classed by format, and those of several formats apart") {
  for (size_t c = 0; c < kBlobFormats.size(); ++c) {
    CHECK(blob_class(kBlobFormats[c], kBlobFormats[c], kBlobFormats[c]) == c);
  }
  CHECK(blob_class_name(blob_class(Format::kQ2_0, Format::kQ2_0, Format::kQ2_0)) ==
        std::string("Q2_0"));
  CHECK(blob_class_name(blob_class(Format::kQ2_0, Format::kQ2_0, Format::kQ3_K)) ==
        std::string("mixed"));
}

}  // namespace rota
