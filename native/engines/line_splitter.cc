// Cutting a stream into lines.
#include "engines/line_splitter.h"

#include <new>
#include <utility>

namespace rota {

void LineSplitter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    keep(bytes.substr(0, newline));
    if (newline == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::keep(std::string_view piece) {
  if (skipping_) return;
  if (piece.size() > longest_ - partial_.size()) return refuse(Refused::kTooLong);
  try {
    partial_.append(piece);
  } catch (const std::bad_alloc&) {
    refuse(Refused::kNoMemory);
  }
}

void LineSplitter::end_line() {
  const bool whole = !std::exchange(skipping_, false);
  const std::string line = std::exchange(partial_, {});
  if (!whole) return;
  try {
    line_(line);
  } catch (const std::bad_alloc&) {
    refused_(Refused::kNoMemory);
  }
}

// What was kept is given back: the refusal itself may need memory.
void LineSplitter::refuse(Refused why) {
  skipping_ = true;
  partial_ = std::string();
  refused_(why);
}

}  // namespace rota
