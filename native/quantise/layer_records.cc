// Plain values one after the other; the folder's checksum guards them.
#include "quantise/layer_records.h"

#include <cstring>
#include <type_traits>

namespace rota {
namespace {

template <typename T>
void put(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  bool take(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return true;
  }
  bool take(std::vector<uint8_t>& bytes, uint64_t count) {
    if (rest_.size() < count) return false;
    bytes.assign(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count));
    rest_.remove_prefix(count);
    return true;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool take(Cursor& in, FittedExpert& expert) {
  int32_t choice = 0;
  uint64_t bytes = 0;
  if (!in.take(choice) || !in.take(expert.error) || !in.take(expert.energy)) return false;
  expert.choice = choice;
  return choice >= 0 && static_cast<size_t>(choice) < kChoices.size() && in.take(bytes) &&
         in.take(expert.blob, bytes);
}

}  // namespace

std::string to_record(const LayerTrials& trials) {
  std::string out;
  put(out, trials.energy);
  for (const ExpertTrials& expert : trials.experts) put(out, expert);
  return out;
}

std::optional<LayerTrials> trials_from(std::string_view record, size_t experts) {
  Cursor in(record);
  LayerTrials trials;
  trials.experts.resize(experts);
  bool whole = in.take(trials.energy);
  for (ExpertTrials& expert : trials.experts) whole = whole && in.take(expert);
  if (!whole || !in.at_end()) return std::nullopt;
  return trials;
}

std::string to_record(const LayerFit& fit) {
  std::string out;
  put(out, fit.energy);
  put(out, fit.error);
  for (const FittedExpert& expert : fit.experts) {
    put(out, static_cast<int32_t>(expert.choice));
    put(out, expert.error);
    put(out, expert.energy);
    put(out, static_cast<uint64_t>(expert.blob.size()));
    out.append(reinterpret_cast<const char*>(expert.blob.data()), expert.blob.size());
  }
  return out;
}

std::optional<LayerFit> fit_from(std::string_view record, size_t experts) {
  Cursor in(record);
  LayerFit fit;
  fit.experts.resize(experts);
  bool whole = in.take(fit.energy) && in.take(fit.error);
  for (FittedExpert& expert : fit.experts) whole = whole && take(in, expert);
  if (!whole || !in.at_end()) return std::nullopt;
  return fit;
}

}  // namespace rota
