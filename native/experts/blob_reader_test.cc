// Parallel blob reads and the staging area: content, order, failure, lateness.
#include "experts/blob_reader.h"

#include <doctest/doctest.h>

#include "experts/fake_blobs.h"
#include "experts/file_stage.h"

namespace rota {
namespace {

std::vector<uint8_t> content(const FakeBlobs& blobs, int layer, int expert) {
  std::vector<uint8_t> bytes(blobs.layout(layer, expert).bytes);
  REQUIRE(blobs.read(layer, expert, 0, bytes.size(), bytes.data()).ok());
  return bytes;
}

std::unique_ptr<FileStage> stage_of(const FakeBlobs& blobs, int demand, int prefetch) {
  FileStage::Options options;
  options.readers = 2;
  options.demand = demand;
  options.prefetch = prefetch;
  options.max_blob = blobs.layout(0, 0).bytes;
  auto stage = FileStage::create(blobs, options);
  REQUIRE(stage.ok());
  return std::move(stage).value();
}

// Collects everything, checks the bytes and returns how many next() calls it took.
int drain(FileStage& stage, const FakeBlobs& blobs, int layer, const std::vector<int>& experts) {
  int waves = 0;
  for (size_t got = 0; got < experts.size(); ++waves) {
    const auto ready = stage.next();
    REQUIRE(ready.ok());
    REQUIRE(!ready.value().empty());
    got += ready.value().size();
    for (const FileStage::Ready& r :
         std::vector<FileStage::Ready>(ready.value().begin(), ready.value().end())) {
      const auto bytes = content(blobs, layer, experts[r.index]);
      CHECK(std::equal(bytes.begin(), bytes.end(), r.blob));
      stage.done(r.index);
    }
  }
  return waves;
}

}  // namespace

TEST_CASE("a blob of several pieces arrives whole") {
  const FakeBlobs blobs(1, 2, 512, 512, {Format::kF32});  // 3 MiB
  BlobReader reader(blobs, 3, 4);
  std::vector<uint8_t> a(blobs.layout(0, 0).bytes), b(a.size());
  const int first = reader.submit(0, 0, a.data(), BlobReader::Priority::kDemand);
  const int second = reader.submit(0, 1, b.data(), BlobReader::Priority::kPrefetch);
  CHECK(reader.wait(second).ok());
  CHECK(reader.wait(first).ok());
  CHECK(a == content(blobs, 0, 0));
  CHECK(b == content(blobs, 0, 1));
  CHECK(blobs.reads > 4);
}

TEST_CASE("every thread has what it reads with before the first read, or says which has not") {
  FakeBlobs blobs(1, 2, 64, 64, {Format::kF32});
  {
    BlobReader reader(blobs, 3, 1);
    CHECK(reader.prepared().ok());
    CHECK(blobs.prepared == 3);
    CHECK(blobs.reads == 0);
    std::vector<uint8_t> bytes(blobs.layout(0, 0).bytes);
    CHECK(reader.wait(reader.submit(0, 1, bytes.data(), BlobReader::Priority::kDemand)).ok());
    CHECK(blobs.prepared == 3);
  }
  blobs.refused_thread = 4;
  const Status refused = BlobReader(blobs, 3, 1).prepared();
  CHECK(refused.code() == Code::kOutOfMemory);
  CHECK(refused.message().starts_with("file reader "));
  CHECK(refused.message().ends_with(": no room for a thread"));
  blobs.refused_thread = blobs.prepared;
  FileStage::Options options;
  options.max_blob = blobs.layout(0, 0).bytes;
  CHECK(FileStage::create(blobs, options).status().code() == Code::kOutOfMemory);
}

TEST_CASE("a failed read is its ticket's status, and the ticket can be used again") {
  FakeBlobs blobs(1, 3, 64, 64, {Format::kF32});
  blobs.fail_id = 1;
  BlobReader reader(blobs, 2, 1);
  std::vector<uint8_t> bytes(blobs.layout(0, 0).bytes);
  const Status bad = reader.wait(reader.submit(0, 1, bytes.data(), BlobReader::Priority::kDemand));
  CHECK(bad.code() == Code::kIo);
  CHECK(bad.message() == "disk on fire");
  CHECK(reader.wait(reader.submit(0, 2, bytes.data(), BlobReader::Priority::kDemand)).ok());
  CHECK(bytes == content(blobs, 0, 2));
}

TEST_CASE("staging hands out more blobs than it has buffers, in order") {
  const FakeBlobs blobs(2, 12, 64, 32, {Format::kF32});
  const auto stage = stage_of(blobs, 3, 0);
  const std::vector<int> wanted = {11, 3, 5, 0, 8, 2, 9, 10};
  std::vector<uint8_t> late(wanted.size());
  PrefetchTally tally;
  for (int layer = 0; layer < 2; ++layer) {
    stage->collect(layer, wanted, late, tally);
    CHECK(drain(*stage, blobs, layer, wanted) >= 3);
    stage->finish(tally);
  }
  CHECK(tally.issued == 0);
}

TEST_CASE("a guess that comes true is useful, a wrong one is bytes read for nothing") {
  const FakeBlobs blobs(3, 8, 64, 32, {Format::kF32});
  const auto stage = stage_of(blobs, 2, 2);
  PrefetchTally tally;
  std::vector<uint8_t> late(8);
  CHECK(stage->prefetch(1, 4, tally));
  CHECK(stage->prefetch(1, 5, tally));
  CHECK(!stage->prefetch(1, 6, tally));
  CHECK(stage->prefetch(2, 6, tally));  // the other half
  const std::vector<int> wanted = {7, 5};
  stage->collect(1, wanted, late, tally);
  drain(*stage, blobs, 1, wanted);
  stage->finish(tally);
  CHECK(tally.issued == 3);
  CHECK(tally.useful == 1);
  CHECK(tally.unused_bytes == static_cast<int64_t>(blobs.layout(1, 4).bytes));
  stage->forget_prefetches(tally);
  CHECK(tally.unused_bytes == 2 * static_cast<int64_t>(blobs.layout(1, 4).bytes));
  CHECK(stage->prefetch(1, 1, tally));
}

TEST_CASE("a prefetch that has not ended when needed is late and still whole") {
  FakeBlobs blobs(2, 8, 64, 32, {Format::kF32});
  const auto stage = stage_of(blobs, 2, 2);
  blobs.delay_us = 20000;
  PrefetchTally tally;
  std::vector<uint8_t> late(2);
  CHECK(stage->prefetch(1, 4, tally));
  const std::vector<int> wanted = {3, 4};
  stage->collect(1, wanted, late, tally);
  CHECK(late == std::vector<uint8_t>{0, 1});
  CHECK(tally.late == 1);
  drain(*stage, blobs, 1, wanted);
  stage->finish(tally);
}

TEST_CASE("after a failed read the stage can be used again") {
  FakeBlobs blobs(2, 8, 64, 32, {Format::kF32});
  const auto stage = stage_of(blobs, 2, 1);
  blobs.fail_id = 3;
  PrefetchTally tally;
  std::vector<uint8_t> late(3);
  const std::vector<int> wanted = {1, 3, 5};
  stage->collect(0, wanted, late, tally);
  Status status;
  while (status.ok()) {
    const auto ready = stage->next();
    status = ready.status();
    if (!ready.ok()) break;
    for (const FileStage::Ready& r : ready.value()) stage->done(r.index);
  }
  CHECK(status.message() == "disk on fire");
  stage->finish(tally);
  blobs.fail_id = -1;
  stage->collect(0, wanted, late, tally);
  drain(*stage, blobs, 0, wanted);
  stage->finish(tally);
}

}  // namespace rota
