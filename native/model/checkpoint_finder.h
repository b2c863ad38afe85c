// The shards of a checkpoint and the tensors in them: opens every file that the index names, finds
// a matrix's tensors and checks types and shapes. Private to checkpoint.cc.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/safetensors.h"
#include "model/checkpoint.h"
#include "model/checkpoint_index.h"

namespace rota {

// What the config implies, without the places of its tensors.
CheckpointMatrix implied_matrix(const ExpectedTensor& expected, bool draft, int stages);
CheckpointMatrix implied_expert(const Config& config, bool draft, int layer, int expert,
                                ExpertPart part);

class CheckpointFinder {
 public:
  // `index_path` is for errors; both outlive this.
  CheckpointFinder(const CheckpointIndex& index, const std::string& index_path);

  // Opens every shard that the index names: one that is missing or cut is found before any tensor.
  Status open_shards();
  // One that is open already.
  bool has_shard(const std::string& name) const { return by_name_.contains(name); }
  void add_shard(const std::string& name, Safetensors file);
  // Fills in the places of a matrix's tensors.
  Status find(CheckpointMatrix& matrix);
  // How many tensors are the vision part's; kLoad for one that nothing in the config accounts for.
  Result<uint64_t> ignored() const;
  // The shards, to be kept as long as any matrix; their addresses stay.
  std::deque<Safetensors> take_shards() { return std::move(shards_); }

 private:
  struct Shard {
    const Safetensors* file = nullptr;
    std::map<std::string_view, const SafetensorsTensor*> tensors;
  };
  struct Wanted;
  static Wanted wanted_values(const CheckpointMatrix& matrix);
  static Wanted wanted_scales(const CheckpointMatrix& matrix);
  Status find_one(const Wanted& wanted, const Safetensors*& file, const SafetensorsTensor*& tensor);

  const CheckpointIndex& index_;
  const std::string& index_path_;
  std::deque<Safetensors> shards_;
  std::map<std::string, Shard> by_name_;
  std::set<std::string_view> taken_;
};

}  // namespace rota
