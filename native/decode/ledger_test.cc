// The ledger's lines and that their sums are the counters.
#include "decode/ledger.h"

#include <fstream>

#include "decode/toy_model.h"

namespace rota {

TEST_CASE("the ledger has one line a decode pass, and its sums are the counters") {
  Bench bench;
  const TempDir dir;
  bench.ledger = std::move(Ledger::open(dir / "ledger.jsonl")).value();
  const GenerateResult r = bench.generate(request_of(30), 4);
  std::ifstream in(dir / "ledger.jsonl");
  std::string line;
  int64_t lines = 0, rows = 0, cpu = 0;
  const auto number = [&line](const std::string& key) {
    const size_t at = line.find("\"" + key + "\":");
    REQUIRE(at != std::string::npos);
    return std::stoll(line.substr(at + key.size() + 3));
  };
  while (std::getline(in, line)) {
    CHECK(number("id") == 7);
    CHECK(number("pass") == lines);
    rows += number("rows");
    cpu += number("cpu");
    ++lines;
  }
  CHECK(lines == r.decode.passes);
  CHECK(rows == r.decode.rows);
  CHECK(cpu == r.decode.experts.source[Source::kCpu]);
  CHECK(Ledger::open(dir / "no/such/folder").status().message().find("cannot write") !=
        std::string::npos);
}

TEST_CASE("a ledger line") {
  PassRecord pass;
  pass.request = 3;
  pass.pass = 1;
  pass.kind = PassKind::kVerify;
  pass.rows = 4;
  pass.offered = 3;
  pass.accepted = 2;
  pass.experts.source.of = {5, 1, 2, 3};
  pass.experts.distinct.of = {4, 0, 2, 3};
  pass.experts.bytes.of = {40, 0, 20, 30};
  pass.experts.blobs[0][blob_class(Format::kQ2_0, Format::kQ2_0, Format::kQ2_0)] = 4;
  pass.experts.blobs[2][kBlobFormats.size()] = 2;
  pass.experts.blobs[3][blob_class(Format::kPTQ1_0, Format::kPTQ1_0, Format::kPTQ1_0)] = 3;
  pass.experts.late = 1;
  pass.experts.experts_ns = 2500000;
  pass.experts.pool_ns = 1250000;
  pass.experts.pool_bytes = 90;
  pass.dense_bytes = 99;
  pass.engram_bytes = 7;
  pass.total_ns = 4007999;
  CHECK(
      ledger_line(pass) ==
      "{\"id\":3,\"pass\":1,\"kind\":\"verify\",\"rows\":4,\"offered\":3,\"accepted\":2,\"hit\":5,"
      "\"pcie\":1,\"cpu\":2,\"file\":3,\"skipped\":0,\"late\":1,\"distinct\":{\"hit\":4,\"pcie\":0,"
      "\"cpu\":2,\"file\":3},\"blobs\":{\"hit\":{\"Q2_0\":4},\"cpu\":{\"mixed\":2},\"file\":{"
      "\"PTQ1_0\":3}},\"bytes\":{\"hit\":40,\"pcie\":0,\"cpu\":20,\"file\":30,\"dense\":99,"
      "\"engram\":7,\"pool\":90},\"ms\":{\"total\":4.007,\"draft\":0.000,\"dense\":0.000,"
      "\"experts\":2.500,\"pool\":1.250,\"file_wait\":0.000}}\n");
}

}  // namespace rota
