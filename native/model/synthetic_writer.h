// Writes the planned tensors of one model's files at once, by many threads. Owns the files until
// they are whole; decides nothing of what is in them. Private to the synthetic model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/gguf_writer.h"
#include "model/synthetic_plan.h"

namespace rota {

struct PlannedFile {
  PlannedFile(const std::string& name, uint32_t alignment) : path(name), writer(name, alignment) {}
  std::string path;
  GgufWriter writer;  // all keys and tensors declared, nothing written
  std::vector<PlannedTensor> tensors;
};

struct WriteHooks {
  std::function<void(uint64_t weights)> made;  // so many more; called by one thread at a time
  std::function<bool()> stopped;               // asked after each of these
};

// threads: 0 = one a core. The bytes do not depend on their number. All files appear, or none.
Status write_planned(const std::vector<std::unique_ptr<PlannedFile>>& files, int threads,
                     const WriteHooks& hooks);

}  // namespace rota
