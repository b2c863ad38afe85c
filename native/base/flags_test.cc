// Command lines: values in both spellings, and one clear line for every mistake.
#include "base/flags.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace rota {
namespace {

struct Parsed {
  std::string slots;
  bool help = false;
  Status status;
};

Parsed parse(const std::vector<const char*>& arguments) {
  Parsed parsed;
  const std::vector<Flag> flags = {
      {"--slots", "SIZE", "bytes",
       [&](const std::string& value) {
         parsed.slots = value;
         return value == "bad" ? Status(Code::kUsage, "bad size") : Status();
       }},
      {"--help", nullptr, "this text",
       [&](const std::string&) {
         parsed.help = true;
         return Status();
       }},
  };
  parsed.status = parse_flags(arguments, flags);
  return parsed;
}

TEST_CASE("values come apart or attached") {
  CHECK(parse({"--slots", "1"}).slots == "1");
  CHECK(parse({"--slots=2", "--help"}).slots == "2");
  CHECK(parse({"--slots=2", "--help"}).help);
  CHECK(parse({"--slots="}).slots.empty());
}

TEST_CASE("mistakes are usage errors that name the flag") {
  CHECK(parse({"--slot", "1"}).status.message() == "unknown flag --slot; did you mean --slots?");
  CHECK(parse({"--qqqqqqqqqqqq"}).status.message() ==
        "unknown flag --qqqqqqqqqqqq; --help lists the flags");
  CHECK(parse({"--slots"}).status.message() == "--slots needs a value: --slots SIZE");
  CHECK(parse({"--help=1"}).status.message() == "--help takes no value");
  CHECK(parse({"slots"}).status.message() == "unexpected argument \"slots\": flags begin with --");
  CHECK(parse({"--slots", "bad"}).status.message() == "--slots: bad size");
  CHECK(parse({"--slots", "bad"}).status.code() == Code::kUsage);
}

TEST_CASE("numbers are whole, finite and in range") {
  CHECK(parse_int("7", 0, 9).value() == 7);
  CHECK(parse_int("10", 0, 9).status().message() == "10 is not in 0..9");
  CHECK(parse_int("1x", 0, 9).status().message() == "\"1x\" is not a whole number");
  CHECK(parse_int("", 0, 9).status().message() == "\"\" is not a whole number");
  CHECK(parse_number("0.5", 0, 1).value() == 0.5);
  CHECK(parse_number("nan", 0, 1).status().message() == "\"nan\" is not a number");
  CHECK(parse_number("2", 0, 1).status().message() == "2 is not in 0..1");
  CHECK(parse_on_off("on").value());
  CHECK(!parse_on_off("off").value());
  CHECK(parse_on_off("yes").status().message() == "\"yes\" is neither on nor off");
}

TEST_CASE("the help has a line a flag") {
  const std::vector<Flag> flags = {{"--a", "N", "first", nullptr},
                                   {"--long", nullptr, "second", nullptr}};
  CHECK(flags_help(flags) == "  --a N   first\n  --long  second\n");
}

}  // namespace
}  // namespace rota
