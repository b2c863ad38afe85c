// Errors as values. Owns Status and Result<T>; knows nothing of what failed.
// A Status is for what a user or a file can cause; ROTA_CHECK (check.h) is for our own mistakes.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace rota {

// The code decides the process's exit status (engine contract): kUsage 2, kLoad and kIo 3,
// kOutOfMemory 4. kBadRequest and kUnsupported are a request's: it is refused and the engine lives.
enum class Code { kOk, kUsage, kLoad, kIo, kOutOfMemory, kBadRequest, kUnsupported, kCancelled };

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // "where: message"; adds context on the way up, keeps the code.
  Status with_context(const std::string& where) const {
    return ok() ? *this : Status(code_, where + ": " + message_);
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit on purpose

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  T& operator*() { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace rota

#define ROTA_RETURN_IF_ERROR(expr)                       \
  do {                                                   \
    if (::rota::Status s_ = (expr); !s_.ok()) return s_; \
  } while (false)

#define ROTA_CONCAT_INNER(a, b) a##b
#define ROTA_CONCAT(a, b) ROTA_CONCAT_INNER(a, b)
// ROTA_ASSIGN_OR_RETURN(auto x, make_x());
#define ROTA_ASSIGN_OR_RETURN(lhs, expr) \
  ROTA_ASSIGN_OR_RETURN_IMPL(ROTA_CONCAT(result_, __LINE__), lhs, expr)
#define ROTA_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp.ok()) return tmp.status();              \
  lhs = std::move(tmp).value()
