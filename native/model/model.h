// DeepSeek-V4.1's text model over one sequence: forward, rollback, drafting. Owns the caches; knows
// no tier, no sampling.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "model/config.h"
#include "model/routed_experts.h"

namespace rota {

class WeightSource;

// How caches hold keys. kPacked is bit for bit kF32 with kv_quant, which it needs; kF16 rounds.
// Open groups of a compressor, which the model does not round, stay fp32.
enum class KvKind { kF32, kF16, kPacked };

struct ModelOptions {
  int ctx = 4096;           // positions; every cache is sized by it at load
  int max_rows = 64;        // most rows in one forward()
  int max_logit_rows = 16;  // most rows whose logits one forward() returns
  int expert_step = 0;  // most rows of a prompt pass for which a layer's experts run at once; 0:
                        // all of them
  KvKind kv = KvKind::kF32;
  bool kv_quant = true;    // the caches' quantisation-aware rounding (part of the model)
  bool act_quant = false;  // e4m3 rounding of the inputs of fp8 and fp4 linears
};

// What a model takes beside its weights.
struct ModelBytes {
  uint64_t kv = 0;       // caches, target and draft: Model::kv_bytes()
  uint64_t buffers = 0;  // activations of the widest pass, index scores included
};
// Known before anything is taken.
ModelBytes model_bytes(const Config& config, const ModelOptions& options);

// Bytes and rows are counted where they are read; ns where they are spent. All grow only.
struct ModelCounters {
  uint64_t dense_bytes = 0;        // weights read by forward(), routed experts apart
  uint64_t draft_dense_bytes = 0;  // the same by draft() and commit_draft_context()
  uint64_t engram_rows = 0, engram_bytes = 0;
  uint64_t head_rows = 0;         // rows whose logits forward() computed
  uint64_t experts_ns = 0;        // inside RoutedExperts::run of the target
  uint64_t draft_experts_ns = 0;  // inside RoutedExperts::run of the draft stages
};

// Chooses the next drafted token from corrected draft logits; greedy drafting needs none.
class DraftPicker {
 public:
  virtual ~DraftPicker() = default;
  virtual int pick(int index, const float* logits, int vocab) = 0;
};

// Host memory owned by the model, valid until the next draft().
struct DraftOut {
  int count = 0;
  const int* ids = nullptr;     // [count]
  const float* conf = nullptr;  // [count] before the sigmoid: sigma(conf_i) estimates P(accepted |
                                // earlier accepted)
};

class Model {
 public:
  // The source must outlive the model (Engram rows are read from it on demand); so must the device.
  static Result<std::unique_ptr<Model>> load(WeightSource& source, Device& device,
                                             const ModelOptions& options);
  virtual ~Model() = default;

  virtual const Config& config() const = 0;
  virtual const ModelOptions& options() const = 0;
  virtual bool can_draft() const = 0;

  // Appends tokens at positions position() .. and leaves their logits for rows [first_logit_row,
  // rows); rows before it cost no head, and with first_logit_row == rows there are none.
  // kBadRequest: token out of range, context full, too many rows; kUnsupported: image token. An
  // error leaves position() as it was.
  virtual Status forward(std::span<const int> tokens, PassKind kind, RoutedExperts& experts,
                         int first_logit_row) = 0;
  // Logits [vocab] of row `row` of the last forward(), host memory, valid until the next one.
  virtual const float* logits(int row) const = 0;
  // The token of the largest of them, the lowest of equals. Where logits are on a device, all that
  // greedy choice brings from there.
  virtual int best(int row) const = 0;

  virtual int position() const = 0;
  // Forgets positions >= position, exactly: what follows is bit-identical to never having seen
  // them. Any position of the last forward() is reachable, and so is 0; an older one only while its
  // windows are still held (kBadRequest otherwise).
  virtual Status truncate(int position) = 0;

  // Gives the drafter the first `rows` rows of the last forward(). Call it for every committed row,
  // in order: after a prefill chunk with all its rows, after a verify pass with the accepted ones
  // (before or after truncate).
  virtual Status commit_draft_context(int rows) = 0;
  // Drafts `depth` tokens (1 .. draft_block) after next_token, which will stand at position().
  // draft_experts' layers are the draft stages 0 .. draft_stages-1.
  virtual Status draft(int next_token, int depth, RoutedExperts& draft_experts, DraftPicker* picker,
                       DraftOut* out) = 0;
  // Logits [count, vocab] of the last draft()'s first tokens after the Markov correction, host
  // memory, valid until the next one.
  virtual const float* draft_logits(int count) const = 0;

  virtual const ModelCounters& counters() const = 0;
  virtual size_t kv_bytes() const = 0;  // caches, target and draft
  virtual size_t dense_bytes()
      const = 0;  // weights on the device, routed experts and Engram tables apart
  virtual size_t engram_bytes() const = 0;  // size of the Engram tables, which stay in the file
};

}  // namespace rota
