// Sizes as text: which forms are taken, what they mean, and the one line for what is not.
#include "engines/size_value.h"

#include <doctest/doctest.h>

#include <climits>

namespace rota {
namespace {

constexpr SizeForms kAll{.share = true, .count = true, .machine = true};

uint64_t bytes(std::string_view text, uint64_t whole = 1000) {
  const auto size = parse_size(text, kAll);
  REQUIRE(size.ok());
  return size.value().of(whole);
}

std::string refusal(std::string_view text, const SizeForms& forms = kAll) {
  const auto size = parse_size(text, forms);
  CHECK(size.status().code() == Code::kUsage);
  return size.status().message();
}

TEST_CASE("sizes are bytes with a binary unit or a share") {
  CHECK(bytes("0") == 0);
  CHECK(bytes("17B") == 17);
  CHECK(bytes("2KiB") == 2048);
  CHECK(bytes("1.5MiB") == 1572864);
  CHECK(bytes("3GiB") == uint64_t{3} << 30);
  CHECK(bytes("1TiB") == uint64_t{1} << 40);
  CHECK(bytes("25%") == 250);
  CHECK(bytes("33.3%", 3) == 1);
  CHECK(bytes("100%", UINT64_C(288780000000)) == UINT64_C(288780000000));
  for (const char* bad :
       {"", "x", "-1MiB", "nanMiB", "infGiB", "1e30GiB", "3 MiB", "3mib", "101%", "1.5x", "-2x"}) {
    CAPTURE(bad);
    CHECK(!refusal(bad).empty());
  }
}

TEST_CASE("a count limits experts and no bytes; auto is the machine's") {
  const SizeValue count = parse_size("4288x", kAll).value();
  CHECK(count.kind == SizeValue::Kind::kCount);
  CHECK(count.limit() == 4288);
  CHECK(count.of(1000) == UINT64_MAX);
  CHECK(parse_size("0x", kAll).value().limit() == 0);
  const SizeValue machine = parse_size("auto", kAll).value();
  CHECK(machine.kind == SizeValue::Kind::kAuto);
  CHECK(machine.limit() == INT_MAX);
  CHECK(parse_size("3GiB", kAll).value().limit() == INT_MAX);
}

TEST_CASE("a form that a knob does not take is refused with those it takes") {
  CHECK(
      refusal("64") ==
      "\"64\" has no unit: write 64x for a count of experts, 64MiB, 64GiB or a share such as 25%");
  CHECK(refusal("64", {}) == "\"64\" has no unit: write 64MiB, 64GiB");
  CHECK(refusal("25%", {}) == "\"25%\": unknown unit \"%\": such as 512MiB, 1.5GiB or 0");
  CHECK(refusal("auto", {.share = true, .count = true}) ==
        "\"auto\" is not a size: such as 25%, 4288x (experts), 512MiB, 1.5GiB or 0");
  CHECK(refusal("5x", {.share = true}) ==
        "\"5x\": unknown unit \"x\": such as 25%, 512MiB, 1.5GiB or 0");
  CHECK(refusal("1.5x") == "\"1.5x\" is not a whole number of experts");
  CHECK(refusal("5MB") ==
        "\"5MB\": unknown unit \"MB\": such as 25%, 4288x (experts), 512MiB, 1.5GiB, 0 or auto");
}

TEST_CASE("sizes as text") {
  CHECK(format_size(900) == "900 B");
  CHECK(format_size(1572864) == "1.5 MiB");
  CHECK(format_gib(uint64_t{3} << 29) == "1.50 GiB");
  for (const char* text : {"4288x", "auto", "25%", "12.5%", "4096B", "0B"}) {
    CHECK(size_text(parse_size(text, kAll).value()) == text);
  }
}

}  // namespace
}  // namespace rota
