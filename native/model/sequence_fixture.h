// A mini model and one sequence over it, for the model's tests (code in sequence_fixture_test.cc,
// so that no library has it).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/host/host_device.h"
#include "model/deepseek_model.h"
#include "model/resident_experts.h"
#include "model/weight_source.h"

namespace rota {

// The named mini model with seed 1, all F32, opened once for the process.
WeightSource& test_model(const std::string& name);

// Reproducible token ids.
std::vector<int> test_tokens(const Config& config, uint64_t seed, size_t n);

struct TestOptions {
  int threads = 0;  // 0: no pool
  int max_rows = 90;
  int ctx = 128;
  bool kv_quant = true;
  bool act_quant = false;
  KvKind kv = KvKind::kF32;
  int expert_step = 0;
  Device* device = nullptr;  // outlives the sequence; null: the host, alone or with the threads
};

// Ends the test when something fails that the test is not about.
class TestSequence {
 public:
  TestSequence(const std::string& model_name, const TestOptions& options);
  // Over a model that the test opened and keeps open.
  TestSequence(WeightSource& source, const TestOptions& options);

  // Logits of every row, passed in chunks of `chunk` rows; each chunk also extends the draft
  // context.
  std::vector<float> run(std::span<const int> tokens, int chunk);
  // One pass, no draft context.
  std::vector<float> pass(std::span<const int> tokens, PassKind kind);

  Model& model() { return *model_; }
  const Core& core() const { return model_->core(); }
  const Config& config() const { return model_->config(); }
  RoutedExperts& experts() { return experts_; }
  RoutedExperts& draft_experts() { return draft_experts_; }

 private:
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Device> host_;
  ResidentExperts experts_, draft_experts_;
  std::unique_ptr<DeepSeekModel> model_;
};

// Index of the largest value, the lowest on ties.
int argmax(const float* values, int n);

// Bit for bit.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace rota
