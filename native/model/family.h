// By which of the known conventions a GGUF names the keys and tensors of this model. Owns the alias
// table and the evidence for each convention; reads no value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/gguf.h"

namespace rota {

// All three have architecture "deepseek41". docs/models.md says which files are of which family.
enum class Family {
  kOurs,  // A's names; experts of one layer may differ in format: blk.N.ffn_exps_map
  kA,     // layer lists as keys, Engram pad as a raw token id
  kB,     // layer lists follow from the tensors that are there, Engram pad as a compressed id
};

const char* family_name(Family family);  // "ours", "a", "b"
Result<Family> parse_family(std::string_view name);

// The family whose marks the file bears. kLoad when it bears none, or marks of two families: one
// line that names the key or tensor.
Result<Family> recognise_family(const Gguf& model);

// How `family` spells a name of family A: a key without "deepseek41.", or a tensor's name after
// "blk.N.". Most names have one spelling.
std::string_view spelled(Family family, std::string_view name);

// Layers, ascending, that have the tensor blk.N.SUFFIX.
std::vector<int> layers_with(const Gguf& gguf, std::string_view suffix);

}  // namespace rota
