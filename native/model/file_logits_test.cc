// The code of file_logits.h; it is a _test file so that no library contains it.
#include "model/file_logits.h"

#include "base/check.h"
#include "device/host/host_device.h"
#include "model/model.h"
#include "model/resident_experts.h"
#include "model/sequence_fixture.h"

namespace rota {

std::vector<float> file_logits(WeightSource& source, size_t rows) {
  const auto device = make_host_device(nullptr);
  ModelOptions options;
  options.ctx = 64;
  options.max_rows = options.max_logit_rows = static_cast<int>(rows);
  const auto model = Model::load(source, *device, options);
  ROTA_CHECK(model.ok(), model.status().message());
  ResidentExperts experts(source, ResidentExperts::Which::kTarget, false);
  ResidentExperts draft_experts(source, ResidentExperts::Which::kDraft, false);
  const std::vector<int> tokens = test_tokens(source.config(), 3, rows);
  Status status = model.value()->forward(tokens, PassKind::kPrefill, experts, 0);
  ROTA_CHECK(status.ok(), status.message());
  const float* const logits = model.value()->logits(0);
  std::vector<float> out(logits, logits + rows * static_cast<size_t>(source.config().vocab));
  if (!source.has_draft()) return out;
  status = model.value()->commit_draft_context(static_cast<int>(rows));
  ROTA_CHECK(status.ok(), status.message());
  DraftOut draft;
  status = model.value()->draft(1, source.config().draft_block, draft_experts, nullptr, &draft);
  ROTA_CHECK(status.ok(), status.message());
  for (int i = 0; i < draft.count; ++i) {
    out.push_back(static_cast<float>(draft.ids[i]));
    out.push_back(draft.conf[i]);
  }
  return out;
}

}  // namespace rota
