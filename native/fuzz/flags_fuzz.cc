// Fuzz target: words of a command line and their values, a zero byte after each, as the system
// hands them over. A value that is taken lies in its range, a size says itself again, and a refusal
// is one line that a terminal may be given, with the words in it or not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/flags.h"
#include "base/utf8.h"
#include "engines/size_value.h"

namespace {

void check_refusal(const rota::Status& status) {
  if (status.ok()) return;
  const std::string& message = status.message();
  ROTA_CHECK(status.code() == rota::Code::kUsage && !message.empty(), message);
  const auto control = [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; };
  ROTA_CHECK(std::none_of(message.begin(), message.end(), control), message);
  ROTA_CHECK(rota::is_utf8(message));
}

rota::Status take_size(const std::string& value) {
  const rota::SizeForms forms{true, true, true};
  const auto size = rota::parse_size(value, forms);
  if (!size.ok()) return size.status();
  const std::string text = rota::size_text(size.value());
  const auto again = rota::parse_size(text, forms);
  ROTA_CHECK(again.ok() && again.value().kind == size.value().kind, value, text);
  ROTA_CHECK(again.value().count == size.value().count, value, text);
  ROTA_CHECK(again.value().bytes == size.value().bytes, value, text);
  ROTA_CHECK(rota::size_text(again.value()) == text, value, text);
  ROTA_CHECK(size.value().share >= 0 && size.value().share <= 1, value);
  if (size.value().kind == rota::SizeValue::Kind::kShare) {
    ROTA_CHECK(size.value().of(1000) <= 1000, value);
  }
  return rota::Status();
}

rota::Status take_int(const std::string& value) {
  const auto number = rota::parse_int(value, -5, 70000);
  ROTA_CHECK(!number.ok() || (number.value() >= -5 && number.value() <= 70000), value);
  return number.status();
}

rota::Status take_number(const std::string& value) {
  const auto number = rota::parse_number(value, 0, 1);
  ROTA_CHECK(!number.ok() || (number.value() >= 0 && number.value() <= 1), value);
  return number.status();
}

const std::vector<rota::Flag>& flags() {
  static const std::vector<rota::Flag> all = {
      {"--size", "SIZE", "", take_size, {}},
      {"--int", "N", "", take_int, {}},
      {"--number", "X", "", take_number, {}},
      {"--on", nullptr, "", [](const std::string&) { return rota::Status(); }, {}},
      {"--switch",
       "on|off",
       "",
       [](const std::string& value) { return rota::parse_on_off(value).status(); },
       {}},
  };
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::vector<const char*> words = {bytes.c_str()};
  for (const char& c : bytes) {
    if (c == '\0') words.push_back(&c + 1);
  }
  std::set<std::string> given;
  const rota::Status status = rota::parse_flags(words, flags(), &given);
  check_refusal(status);
  ROTA_CHECK(!status.ok() || (!given.empty() && given.size() <= words.size()));
  return 0;
}
