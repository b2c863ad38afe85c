// A tiny checkpoint as the release is, made of seeded random bits, for tests only. Every mechanism
// of the model is in it. Its names are written here once more, so that the reader's table is not
// its own witness. Code in checkpoint_fixture_test.cc, so that no library has it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "base/temp_dir.h"
#include "model/config.h"
#include "model/tensor_names.h"

namespace rota {

struct FixtureEntry {
  std::string dtype;
  std::vector<uint64_t> shape;
  std::string data;
  int shard = 1;
};

struct CheckpointFixture {
  nlohmann::json config, engram;
  std::map<std::string, FixtureEntry> tensors;  // every one, vision part included
  std::map<std::string, int> misplaced;         // what the index says otherwise than `shard`
  // (draft, layer, role) -> official name, without ".weight" where it has scales.
  std::map<std::tuple<bool, int, Role>, std::string> names;

  // config.json, engram.json, the index and three shards of dir.
  void write(const TempDir& dir) const;
  // The shard's file.
  static std::string shard_name(int shard);
  // What the tensors of that name say, row by row.
  std::vector<float> decoded(const std::string& name) const;
};

// The config is mini-xs2's, with an image token and a vision part.
nlohmann::json checkpoint_config_json(const Config& config);
CheckpointFixture checkpoint_fixture(uint64_t seed = 1);

}  // namespace rota
