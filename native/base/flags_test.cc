// Command lines: values in both spellings, and one clear line for every mistake.
#include "base/flags.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
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
  CHECK(parse({"a\nb"}).status.message() == "unexpected argument \"a\\x0ab\": flags begin with --");
  CHECK(parse({"--\x1b[2J\r\n=1"}).status.message() ==
        "unknown flag --\\x1b[2J\\x0d\\x0a; --help lists the flags");
}

TEST_CASE("a value that is given twice is refused with both, a switch may be repeated") {
  const Parsed twice = parse({"--slots", "1", "--help", "--slots=2"});
  CHECK(twice.status.code() == Code::kUsage);
  CHECK(twice.status.message() ==
        "--slots is given twice, as \"1\" and as \"2\": keep one of them");
  CHECK(!parse({"--slots=1", "--slots=1"}).status.ok());
  CHECK(parse({"--help", "--help"}).status.ok());
  int files = 0;
  const std::vector<Flag> flags = {{"--from",
                                    "FILE",
                                    "",
                                    [&files](const std::string&) {
                                      ++files;
                                      return Status();
                                    },
                                    {},
                                    true}};
  const std::vector<const char*> words = {"--from=a", "--from", "b"};
  CHECK(parse_flags(words, flags).ok());
  CHECK(files == 2);
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

TEST_CASE("the help has a line a flag, with its variables") {
  const std::vector<Flag> flags = {{"--a", "N", "first", nullptr, {{"APP_A"}, {"APP_B"}}},
                                   {"--long", nullptr, "second", nullptr}};
  CHECK(flags_help(flags) == "  --a N   first [APP_A, APP_B]\n  --long  second\n");
}

struct FromShell {
  int window = 4;
  bool pages = true;
  Result<std::vector<FlagFromEnvironment>> found = Status();
};

FromShell read(const std::map<std::string, const char*>& shell,
               const std::set<std::string>& given = {}) {
  FromShell out;
  const auto translate = [](const std::string& text) -> Result<std::string> {
    if (text == "1") return std::string("off");
    if (text == "0") return std::string();
    return Status(Code::kUsage, "\"" + text + "\" is neither 0 nor 1");
  };
  const std::vector<Flag> flags = {{"--window",
                                    "N",
                                    "calls",
                                    [&out](const std::string& text) {
                                      ROTA_ASSIGN_OR_RETURN(out.window, parse_int(text, 0, 9));
                                      return Status();
                                    },
                                    {{"APP_WIN"}, {"APP_WINDOW"}}},
                                   {"--pages",
                                    "on|off",
                                    "large",
                                    [&out](const std::string& text) {
                                      ROTA_ASSIGN_OR_RETURN(out.pages, parse_on_off(text));
                                      return Status();
                                    },
                                    {{"APP_NO_PAGES", translate}}}};
  out.found = read_environment(flags, given, [&shell](const char* name) {
    const auto at = shell.find(name);
    return at == shell.end() ? nullptr : at->second;
  });
  return out;
}

TEST_CASE("a variable gives the value of a flag that is not on the command line") {
  const FromShell set = read({{"APP_WINDOW", "7"}, {"APP_NO_PAGES", "1"}});
  CHECK(set.window == 7);
  CHECK(!set.pages);
  REQUIRE(set.found.value().size() == 2);
  CHECK(set.found.value()[0].flag == "--window");
  CHECK(set.found.value()[0].variable == "APP_WINDOW");
  CHECK(set.found.value()[0].value == "7");
  CHECK(set.found.value()[1].value == "1");
  const FromShell given = read({{"APP_WIN", "bad"}, {"APP_NO_PAGES", "1"}}, {"--window"});
  CHECK(given.window == 4);
  CHECK(given.found.value().size() == 1);
  std::set<std::string> names;
  const std::vector<const char*> words = {"--window=1"};
  const std::vector<Flag> flags = {
      {"--window", "N", "", [](const std::string&) { return Status(); }}};
  CHECK(parse_flags(words, flags, &names).ok());
  CHECK(names == std::set<std::string>{"--window"});
}

TEST_CASE("an empty variable, and one that means the default, leave the flag alone") {
  const FromShell set = read({{"APP_WIN", ""}, {"APP_NO_PAGES", "0"}});
  CHECK(set.window == 4);
  CHECK(set.pages);
  CHECK(set.found.value().empty());
}

TEST_CASE("a bad variable is a usage error that names it") {
  CHECK(read({{"APP_WIN", "10"}}).found.status().message() == "APP_WIN: 10 is not in 0..9");
  CHECK(read({{"APP_WIN", "10"}}).found.status().code() == Code::kUsage);
  CHECK(read({{"APP_NO_PAGES", "x"}}).found.status().message() ==
        "APP_NO_PAGES: \"x\" is neither 0 nor 1");
  CHECK(read({{"APP_WIN", "1"}, {"APP_WINDOW", "2"}}).found.status().message() ==
        "APP_WIN and APP_WINDOW disagree: unset one, or give --window");
  CHECK(read({{"APP_WIN", "1"}, {"APP_WINDOW", "1"}}).found.value().size() == 1);
}

TEST_CASE("words behind a flag that takes a list are its values, and no others") {
  const auto spread = [](std::vector<const char*> words, const char* first = nullptr) {
    constexpr std::array kLists = {"--from", "--text"};
    std::string line;
    for (const std::string word : spread_lists(words, kLists, first)) line += " " + word;
    return line;
  };
  CHECK(spread({}) == "");
  CHECK(spread({"--from", "a", "b", "--out", "c", "d"}) == " --from a --from b --out c d");
  CHECK(spread({"--from=a", "b", "--text", "c", "d"}) == " --from=a --from b --text c --text d");
  CHECK(spread({"--out", "--from", "a"}) == " --out --from a");
  CHECK(spread({"a", "b", "--from", "c", "d"}, "--model") == " --model a b --from c --from d");
  CHECK(spread({"--out", "c", "a"}, "--model") == " --out c a");
}

}  // namespace
}  // namespace rota
