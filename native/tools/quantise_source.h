// The GGUF that a quantisation reads: the one named, or a checkpoint as released, converted without
// loss beside the result for as long as it is needed. Knows nothing of quantising.
#pragma once

#include <string>

#include "base/status.h"
#include "tools/writing.h"

namespace rota {

class QuantiseSource {
 public:
  // `model` is a GGUF or a folder. A conversion that an earlier, killed run finished is used again
  // as long as the folder's files are the same.
  static Result<QuantiseSource> open(const std::string& model, const std::string& out,
                                     Progress& progress);
  const std::string& gguf() const { return gguf_; }
  // Of a conversion, when all is done.
  void remove() const;

 private:
  std::string gguf_;
  bool converted_ = false;
};

}  // namespace rota
