// Attention of all rows and heads of a pass, cut over threads. Owns the memory of keys that must be
// decoded first: each once for all heads of its row, so that heads read floats whatever a cache
// holds.
#pragma once

#include <vector>

#include "device/device.h"
#include "device/host/task_splitter.h"

namespace rota {

class AttentionRows {
 public:
  void run(const AttentionArgs& args, TaskSplitter& split);

 private:
  std::vector<float> decoded_;  // grown to the largest size ever needed, then kept
};

}  // namespace rota
