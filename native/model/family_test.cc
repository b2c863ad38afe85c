// The families of model files: recognised by their names, refused when they contradict themselves,
// and the same model whichever of them wrote it down.
#include "model/family.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "formats/gguf_writer.h"
#include "model/file_logits.h"
#include "model/sequence_fixture.h"
#include "model/weight_fixture.h"

namespace rota {
namespace {

SyntheticOptions family_options(const std::string& config, Family family) {
  SyntheticOptions options;
  options.config = config;
  options.family = family;
  options.expert_format = Format::kF32;
  options.dense_format = Format::kF32;
  return options;
}

// Replaces every `from` of the file by `to`, of the same length.
std::string renamed(const TempDir& dir, const std::string& path, const std::string& from,
                    const std::string& to) {
  REQUIRE(from.size() == to.size());
  std::string file = read_file(path);
  size_t found = 0, count = 0;
  for (; (found = file.find(from, found)) != std::string::npos; found += to.size(), ++count) {
    file.replace(found, from.size(), to);
  }
  REQUIRE(count > 0);
  return dir.write("renamed.gguf", file);
}

TEST_CASE("each family is recognised, and its roles are found") {
  for (const std::string config : {"mini-xs", "mini-xs2"}) {
    for (const Family family : {Family::kOurs, Family::kA, Family::kB}) {
      CAPTURE(family_name(family));
      const TempDir dir;
      const auto source = open(write(dir, family_options(config, family)));
      CHECK(source->family() == family);
      CHECK(parse_family(family_name(family)).value() == family);
      const Config& c = source->config();
      const Config expected = synthetic_config(named_config(config).value(), nullptr).value();
      CHECK(c.kv_source == expected.kv_source);
      CHECK(c.index_source == expected.index_source);
      CHECK(c.candidate_source == expected.candidate_source);
      CHECK(c.candidate_blocks == expected.candidate_blocks);
      CHECK(c.candidate_block_size == expected.candidate_block_size);
      CHECK(c.engram_pad_id == expected.engram_pad_id);
      CHECK(c.engram_compressed_vocab == expected.engram_compressed_vocab);
      CHECK(c.engram_multipliers == expected.engram_multipliers);
      CHECK(c.engram_offsets == expected.engram_offsets);
      CHECK(c.engram_token_map == expected.engram_token_map);
    }
  }
}

TEST_CASE("files of a, b and ours hold one model: the same logits and drafts") {
  for (const std::string config : {"mini-xs", "mini-xs2"}) {
    std::vector<float> first;
    for (const Family family : {Family::kOurs, Family::kA, Family::kB}) {
      CAPTURE(family_name(family));
      const TempDir dir;
      const auto logits = file_logits(*open(write(dir, family_options(config, family))));
      if (first.empty()) first = logits;
      CHECK(same_bits(logits, first));
    }
  }
}

// Weights that every one of these formats holds exactly; the vectors are F32 anyway.
TEST_CASE("MXFP4, Q2_K, Q3_K, F16 and F32 of the same grid give the same logits") {
  struct Choice {
    Family family;
    Format experts, dense, engram;
  };
  const Choice choices[] = {{Family::kOurs, Format::kF32, Format::kF32, Format::kF32},
                            {Family::kA, Format::kMXFP4, Format::kBF16, Format::kMXFP4},
                            {Family::kB, Format::kQ2_K, Format::kF16, Format::kMXFP8},
                            {Family::kB, Format::kQ3_K, Format::kBF16, Format::kF16},
                            {Family::kOurs, Format::kF16, Format::kMXFP4, Format::kBF16}};
  std::vector<float> first;
  for (const Choice& choice : choices) {
    const TempDir dir;
    SyntheticOptions options = family_options("mini-s", choice.family);
    options.values = ValueKind::kGrid;
    options.expert_format = choice.experts;
    options.dense_format = choice.dense;
    options.engram_format = choice.engram;
    const auto source = open(write(dir, options));
    CHECK(source->expert(3, 1).format[0] == choice.experts);
    CHECK(source->target(Role::kEngramEmbed, 1).format == choice.engram);
    const auto logits = file_logits(*source, 12);
    if (first.empty()) first = logits;
    CAPTURE(format_info(choice.experts).name);
    CHECK(same_bits(logits, first));
  }
}

// mini-xs2's pad is raw id 5, compressed id 3; raw 3 is compressed 1.
TEST_CASE("the Engram pad is raw in family a and compressed in family b, and it matters") {
  const TempDir dir;
  const std::string a = write(dir, family_options("mini-xs2", Family::kA), "a.gguf");
  const std::string b = write(dir, family_options("mini-xs2", Family::kB), "b.gguf");
  const auto right = file_logits(*open(a));
  CHECK(open(a)->config().engram_pad_token_id == 5);
  CHECK(open(b)->config().engram_pad_id == 3);
  // A key is name, type, value; what the other family would have written is put in.
  const auto with_pad = [&](const std::string& path, const std::string& key, char from, char to) {
    const std::string head = key + std::string("\4\0\0\0", 4);
    return renamed(dir, path, head + from, head + to);
  };
  const auto wrong_a = open(with_pad(a, "engram.pad_token_id", 5, 3));
  CHECK(wrong_a->config().engram_pad_id == 1);
  CHECK(!same_bits(file_logits(*wrong_a), right));
  const auto wrong_b = open(with_pad(b, "engram.pad_id", 3, 5));
  CHECK(wrong_b->config().engram_pad_id == 5);
  CHECK(!same_bits(file_logits(*wrong_b), right));
}

// What recognise_family says of a file with these keys (after "deepseek41.") and tensors.
std::string verdict(const std::vector<std::string>& keys, const std::vector<std::string>& tensors) {
  const TempDir dir;
  const std::string path = dir / "m.gguf";
  GgufWriter writer(path, 32);
  for (const std::string& key : keys) writer.key_u32("deepseek41." + key, 1);
  for (const std::string& name : tensors) {
    REQUIRE(writer.add_tensor(name, Format::kF32, std::vector<uint64_t>{1}).ok());
  }
  REQUIRE(writer.begin_data().ok());
  for (size_t i = 0; i < tensors.size(); ++i) REQUIRE(writer.append("1234", 4).ok());
  REQUIRE(writer.finish().ok());
  const auto gguf = Gguf::open(path);
  REQUIRE_MESSAGE(gguf.ok(), gguf.status().message());
  const auto family = recognise_family(gguf.value());
  if (family.ok()) return family_name(family.value());
  CHECK(family.status().code() == Code::kLoad);
  return family.status().message().substr(path.size() + 2);
}

TEST_CASE("one name is evidence enough, two families are refused with both names") {
  CHECK(verdict({"engram.pad_token_id"}, {}) == "a");
  CHECK(verdict({}, {"blk.1.engram_embed.weight"}) == "a");
  CHECK(verdict({"engram.pad_id"}, {}) == "b");
  CHECK(verdict({}, {"blk.12.indexer.attn_k.weight"}) == "b");
  CHECK(verdict({"engram.n_heads"}, {"blk.0.ffn_exps_map"}) == "ours");
  CHECK(verdict({"engram.pad_id", "engram.pad_token_id"}, {}) ==
        "key deepseek41.engram.pad_id is of family b, but key deepseek41.engram.pad_token_id of "
        "family a; a file must be of one");
  CHECK(verdict({"attention.kv_source_layer_ids"}, {"blk.20.indexer.k_norm.weight"}) ==
        "tensor blk.20.indexer.k_norm.weight is of family b, but key "
        "deepseek41.attention.kv_source_layer_ids of family a; a file must be of one");
  CHECK(verdict({"engram.key_length"}, {"blk.3.ffn_exps_map"}) ==
        "key deepseek41.engram.key_length is of family b, but tensor blk.3.ffn_exps_map is of "
        "family ours; a file must be of one");
  // Names that all families have, names of no layer, and an image router say nothing.
  CHECK(
      verdict({"block_count", "attention.candidate_block_size"},
              {"blk.0.exp_probs_b_vl.bias", "blk.x.engram_embed.weight", "engram_embed.weight"}) ==
      "of no known family: there is neither key deepseek41.attention.kv_source_layer_ids "
      "(family a) nor a tensor blk.N.indexer.attn_k.weight (family b)");
}

TEST_CASE("family b may leave out what its tensors and the released model say") {
  const TempDir dir;
  const std::string b = write(dir, family_options("mini-xs", Family::kB));
  // A key of another name is no key: the pool is then the released one.
  const auto source = open(renamed(dir, b, "candidate_topk_blocks", "candidate_topk_blockz"));
  CHECK(source->config().candidate_source == 5);
  CHECK(source->config().candidate_blocks == 2048);
  CHECK(source->config().candidate_block_size == 8);
  CHECK(failure(renamed(dir, b, "engram.pad_id", "engram.pad_ix")) ==
        (dir / "renamed.gguf") + ": key deepseek41.engram.pad_id: missing");
}

TEST_CASE("a pad outside of the vocabulary is refused in either spelling") {
  const TempDir dir;
  const auto tell = [&](Family family, const std::string& key, char from) {
    const std::string path = write(dir, family_options("mini-xs", family));
    const std::string head = key + std::string("\4\0\0\0", 4);
    const std::string file = renamed(dir, path, head + from, head + '\x80');
    return failure(file).substr(file.size() + 2);
  };
  CHECK(tell(Family::kA, "engram.pad_token_id", 2) ==
        "key deepseek41.engram.pad_token_id: is 128, expected a token id below 128");
  CHECK(tell(Family::kB, "engram.pad_id", 1) == "config: engram_pad_id is 128, expected 0 to 63");
}

TEST_CASE("a sidecar that claims any number of stages is refused before memory is asked for") {
  const TempDir dir;
  const std::string path = write(dir, family_options("mini-xs", Family::kOurs));
  const std::string key = "dflash.block_count";
  std::string file = read_file(sidecar_path(path));
  const size_t value = file.find(key) + key.size() + sizeof(uint32_t);  // behind the value's type
  REQUIRE(value + sizeof(uint32_t) < file.size());
  WeightSourceOptions options;
  for (const uint32_t stages : {0u, 17u, 0x7fffffffu}) {
    std::memcpy(&file[value], &stages, sizeof stages);
    options.draft_path = dir.write("claims.gguf", file);
    const auto opened = WeightSource::open(path, options);
    REQUIRE(!opened.ok());
    CHECK(opened.status().code() == Code::kLoad);
    CHECK(opened.status().message() == options.draft_path + ": the sidecar has " +
                                           std::to_string(stages) + " stages, not 1 to 16");
  }
}

TEST_CASE("a sidecar may leave its sizes to its tensors, and name the noise token elsewhere") {
  const TempDir dir;
  const std::string path = write(dir, family_options("mini-xs2", Family::kB));
  const std::string sidecar = sidecar_path(path);
  WeightSourceOptions options;
  options.draft_path = renamed(dir, sidecar, "dflash.markov_rank", "dflash.markov_rxnk");
  CHECK(open(path, options)->config().markov_rank == 24);
  options.draft_path = renamed(dir, sidecar, "dflash.vocab_size", "dflash.vocab_sizf");
  CHECK(open(path, options)->config().draft_stages == 2);
  options.draft_path = renamed(dir, sidecar, "dflash.mask_token_id", "dflash.mask_token_ix");
  CHECK(failure(path, options) == (dir / "renamed.gguf") + ": key dflash.mask_token_id: missing");
}

}  // namespace
}  // namespace rota
