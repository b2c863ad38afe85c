// Changes one number of a GGUF's head, wherever it stands, and leaves the container whole: byte by
// byte hardly a change gets past the container. Owns the walk over a head; checks nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_parser.h"

namespace rota {

class GgufNumbers {
 public:
  explicit GgufNumbers(std::span<uint8_t> head) : head_(head) { walk(); }

  bool empty() const { return places_.empty(); }

  // To its neighbour, to one that breaks things, or to another number of this head.
  void change(std::minstd_rand& random) {
    const Place place = places_[random() % places_.size()];
    const uint64_t value = load(place);
    switch (random() % 3) {
      case 0:
        return store(place, random() % 2 == 0 ? value + 1 : value - 1);
      case 1: {
        constexpr uint64_t kOdd[] = {0, 1, 2, 3, 7, 16, 31, 32, 4096, INT32_MAX, INT64_MAX, ~0ull};
        return store(place, kOdd[random() % std::size(kOdd)]);
      }
      default:
        return store(place, load(places_[random() % places_.size()]));
    }
  }

 private:
  struct Place {
    size_t at;
    size_t bytes;
  };

  uint64_t load(Place place) const {
    uint64_t value = 0;
    std::memcpy(&value, head_.data() + place.at, place.bytes);
    return value;
  }
  void store(Place place, uint64_t value) {
    std::memcpy(head_.data() + place.at, &value, place.bytes);
  }

  bool skip(uint64_t bytes) {
    if (bytes > head_.size() - at_) return false;
    at_ += bytes;
    return true;
  }
  // The number here, stepped over; kept as a place when it may change without moving what follows.
  std::optional<uint64_t> number(size_t bytes, bool keep) {
    const Place place{at_, bytes};
    if (!skip(bytes)) return std::nullopt;
    if (keep) places_.push_back(place);
    return load(place);
  }
  bool text() {
    const auto length = number(8, false);
    return length && skip(*length);
  }

  bool key() {
    if (!text()) return false;
    auto type = number(4, false);
    uint64_t count = 1;
    if (type == static_cast<uint64_t>(GgufType::kArray)) {
      type = number(4, false);
      count = number(8, false).value_or(0);
    }
    if (!type || *type > static_cast<uint64_t>(GgufType::kF64)) return false;
    const size_t bytes = gguf_type_bytes(static_cast<GgufType>(*type));
    for (uint64_t i = 0; i < count; ++i) {
      if (!(bytes == 0 ? text() : number(bytes, true).has_value())) return false;
    }
    return true;
  }

  bool tensor() {
    if (!text()) return false;
    const auto dims = number(4, false);
    if (!dims || *dims > 4) return false;
    for (uint64_t i = 0; i < *dims; ++i) {
      if (!number(8, true)) return false;
    }
    return number(4, true) && number(8, true);  // format, offset
  }

  // As far as the head goes.
  void walk() {
    if (!skip(8)) return;
    const uint64_t tensors = number(8, false).value_or(0), keys = number(8, false).value_or(0);
    for (uint64_t i = 0; i < keys; ++i) {
      if (!key()) return;
    }
    for (uint64_t i = 0; i < tensors; ++i) {
      if (!tensor()) return;
    }
  }

  std::span<uint8_t> head_;
  size_t at_ = 0;
  std::vector<Place> places_;
};

}  // namespace rota
