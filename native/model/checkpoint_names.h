// The one table from roles to the tensors of a released DeepSeek-V4.1 checkpoint: official names
// and how each is stored. Owns no data.
#pragma once

#include <string>
#include <string_view>

#include "model/tensor_names.h"

namespace rota {

// How a checkpoint holds a matrix of `rows` x `columns`:
enum class Stored : uint8_t {
  kF32,       // NAME F32
  kBF16,      // NAME BF16
  kFp8Tiles,  // NAME.weight F8_E4M3, NAME.scale F8_E8M0 [ceil(rows / 32), columns / 32]
  kFp8Rows,   // NAME.weight F8_E4M3, NAME.scale F8_E8M0 [rows, columns / 32]
  kFp4,  // NAME.weight I8 [rows, columns / 2], a byte's low nibble first; NAME.scale as kFp8Rows
};

Stored stored_as(Role role);
bool has_scales(Stored stored);

// Of a target layer, or of a draft stage; layer -1 for what is there once. Where it has scales,
// this is the name without ".weight" and ".scale".
std::string target_name(Role role, int layer);
// `stages`: how many there are; the first and the last hold what is there once.
std::string draft_name(Role role, int stage, int stages);
// Without ".weight" and ".scale" again.
std::string target_expert_name(int layer, int expert, ExpertPart part);
std::string draft_expert_name(int stage, int expert, ExpertPart part);

// True for tensors that the text model does not read: the vision part, and the router's bias for
// image tokens.
bool is_of_vision(std::string_view name);

}  // namespace rota
