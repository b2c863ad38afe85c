// One GGUF of a model (the model itself, its sidecar or its Engram tables): its dense tensors by
// (layer, role) and its experts by (layer, expert), found and checked. Private to weight_source.cc.
#pragma once

#include <deque>
#include <vector>

#include "base/status.h"
#include "formats/gguf.h"
#include "model/config.h"
#include "model/tensor_names.h"
#include "model/weight_source.h"

namespace rota {

class OpenedGguf {
 public:
  // `first_file`: the number of its first file among those of the whole model.
  OpenedGguf(Gguf file, int first_file);

  Gguf gguf;

  const std::vector<const MmapFile*>& files() const { return files_; }
  int next_file() const { return first_files_.front() + static_cast<int>(files_.size()); }
  bool has(const std::string& tensor) const { return gguf.tensor(tensor) != nullptr; }

  // Finds a tensor of that name and shape, as the model will read it.
  Status find(const ExpectedTensor& expected, int layers);
  Status find_experts(const Config& config, int layers, int experts);

  // The tensor of a role that was found; ROTA_CHECK otherwise.
  const WeightTensor& tensor(Role role, int layer) const;
  const std::vector<WeightTensor>& tensors() const { return tensors_; }
  const ExpertBlob& expert(int layer, int expert) const {
    return experts_.at(static_cast<size_t>(layer)).at(static_cast<size_t>(expert));
  }
  uint64_t expert_bytes() const;

 private:
  Result<WeightTensor> load(const ExpectedTensor& expected);
  void place_rows(const GgufTensor& found, WeightTensor& tensor);

  std::vector<int> first_files_;  // by shard
  std::vector<const MmapFile*> files_;
  std::vector<WeightTensor> tensors_;  // [(layer + 1) * roles + role]; file -1 where there is none
  std::vector<std::vector<ExpertBlob>> experts_;
  std::deque<std::vector<float>> decoded_;
};

}  // namespace rota
