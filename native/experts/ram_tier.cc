// Memory and copies in it.
#include "experts/ram_tier.h"

#include <cstring>

#include "base/aligned_buffer.h"
#include "base/check.h"

namespace rota {
namespace {

class RamTier final : public DeviceTier {
 public:
  RamTier(AlignedBuffer slots, AlignedBuffer staged, AlignedBuffer bounce, uint64_t max_blob)
      : slots_(std::move(slots)),
        staged_(std::move(staged)),
        bounce_(std::move(bounce)),
        max_blob_(max_blob) {}

  bool computes() const override { return false; }
  uint8_t* slot(uint64_t offset) override { return slots_.data() + offset; }
  uint8_t* staged(size_t index) override { return staged_.data() + index * max_blob_; }
  std::span<const uint8_t> ram() override { return {slots_.data(), slots_.size()}; }
  uint64_t device_bytes() const override { return 0; }
  const std::string& arena_note() const override { return note_; }

  Status fill(uint64_t slot, const uint8_t* from, const BlobLayout& layout) override {
    std::memcpy(slots_.data() + slot, from, layout.bytes);
    return Status();
  }
  Status settle() override { return Status(); }
  void settle_place(const uint8_t*) override {}

  void arrive(const float*, int) override {}
  void begin(const DeviceCall& call) override {
    x_ = call.x;
    rows_ = call.rows;
  }
  void stage(size_t index, const uint8_t* from, const BlobLayout& layout) override {
    std::memcpy(staged(index), from, layout.bytes);
  }
  void compute(std::span<const ExpertJob> hits, std::span<const ExpertJob> copied) override {
    ROTA_CHECK(hits.empty() && copied.empty(), "jobs in RAM are the pool's");
  }
  const float* input() override { return x_; }
  void move(const SlotMove& move) override {
    uint8_t* slot = slots_.data() + move.slot;
    if (move.victim_to != nullptr) std::memcpy(bounce_.data(), slot, move.victim->bytes);
    if (move.from != nullptr) std::memcpy(slot, move.from, move.entering->bytes);
    if (move.victim_to != nullptr) {
      std::memcpy(move.victim_to, bounce_.data(), move.victim->bytes);
    }
  }
  void enter(uint64_t slot, const uint8_t* from, const BlobLayout& layout) override {
    std::memcpy(slots_.data() + slot, from, layout.bytes);
  }
  Status finish(ExpertPool* pool, std::span<const size_t>, float* y) override {
    pool->finish(rows_, y);
    return Status();
  }

 private:
  AlignedBuffer slots_, staged_, bounce_;
  uint64_t max_blob_;
  std::string note_;
  const float* x_ = nullptr;
  int rows_ = 0;
};

}  // namespace

Result<std::unique_ptr<DeviceTier>> make_ram_tier(const DeviceTierNeeds& needs) {
  ROTA_ASSIGN_OR_RETURN(AlignedBuffer slots, AlignedBuffer::allocate(needs.slots_bytes, 64, true));
  ROTA_ASSIGN_OR_RETURN(AlignedBuffer staged,
                        AlignedBuffer::allocate(needs.max_blob * needs.staged_blobs));
  ROTA_ASSIGN_OR_RETURN(AlignedBuffer bounce, AlignedBuffer::allocate(needs.victim_bytes));
  return std::unique_ptr<DeviceTier>(
      new RamTier(std::move(slots), std::move(staged), std::move(bounce), needs.max_blob));
}

}  // namespace rota
