// Setters for flags: parse a text, store the value. Owns no flag and no range.
#pragma once

#include <functional>
#include <string>

#include "base/flags.h"
#include "base/status.h"
#include "engines/size_value.h"

namespace rota::setters {

using Setter = std::function<Status(const std::string&)>;

// Parses with `parse` and stores.
template <typename T, typename Parse>
Setter store(T& target, Parse parse) {
  return [&target, parse](const std::string& text) {
    ROTA_ASSIGN_OR_RETURN(target, parse(text));
    return Status();
  };
}

inline Setter text(std::string& target) {
  return [&target](const std::string& value) {
    if (value.empty()) return Status(Code::kUsage, "needs a value");
    target = value;
    return Status();
  };
}
template <typename T>
Setter whole(T& target, int min, int max) {
  return store(target, [min, max](const std::string& t) { return parse_int(t, min, max); });
}
inline Setter number(double& target, double min, double max) {
  return store(target, [min, max](const std::string& t) { return parse_number(t, min, max); });
}
inline Setter size(SizeValue& target, const SizeForms& forms) {
  return store(target, [forms](const std::string& t) { return parse_size(t, forms); });
}
inline Setter on_off(bool& target) {
  return store(target, [](const std::string& t) { return parse_on_off(t); });
}

}  // namespace rota::setters
