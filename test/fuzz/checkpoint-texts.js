// The texts of a checkpoint in one input of its fuzz target: config.json, engram.json, the index and a shard's head, a NUL between
// each. Owns what stays of the shipped model.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DTYPE_BYTES = { BF16: 2, F32: 4 };
/** A layer with one expert of each kind, the Engram in it, and the first stage, each the only one. */
const LAYER = /^(embed|head|norm)\.|^layers\.1\.(?!engram)/;
const ENGRAM = /^layers\.1\.engram/;
const DRAFT = /^mtp\.0\.|^mtp\.2\.(norm|markov|confidence)/;
/** Keys of the config that no reader of it takes, of the Engram and of drafts. */
const UNREAD = /^(dtype|max_position_embeddings)$/;
const OF_ENGRAM = /^engram_/;
const OF_DRAFT = /^dspark_|^num_nextn/;
/** Words; the token map of all would be most of the input. */
const VOCAB = 16;
const OTHER_EXPERT = /experts\.[1-9]/;

/**
 * Reading an input takes as long as its text is: what a part does not need is not in it.
 * @param {string} folder
 * @param {{engram: boolean, draft: boolean}} parts
 */
export function smallCheckpoint(folder, parts) {
  const kept = [LAYER, ...(parts.engram ? [ENGRAM] : []), ...(parts.draft ? [DRAFT] : [])];
  /** @type {Record<string, {dtype: keyof typeof DTYPE_BYTES, shape: number[], data_offsets: number[]}>} */
  const head = {};
  let at = 0;
  for (const [name, { dtype, shape }] of Object.entries(headsOf(folder))) {
    if (!kept.some((part) => part.test(name)) || OTHER_EXPERT.test(name)) continue;
    const own = ownShape(name, shape);
    const bytes =
      own.reduce((a, b) => a * b, 1) * (DTYPE_BYTES[/** @type {keyof typeof DTYPE_BYTES} */ (dtype)] ?? 1);
    head[name.replace('mtp.2.', 'mtp.0.').replace('layers.1.', 'layers.0.')] = {
      dtype,
      shape: own,
      data_offsets: [at, at + bytes],
    };
    at += bytes;
  }
  const index = { weight_map: Object.fromEntries(Object.keys(head).map((name) => [name, 'a'])) };
  const json = JSON.stringify(head);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const map = { token_map: Array.from({ length: VOCAB }, (_, id) => id >> 1) };
  const engram = parts.engram ? JSON.stringify(map) : '';
  const texts = [JSON.stringify(smallConfig(folder, parts)), engram, JSON.stringify(index)].join('\0');
  return Buffer.concat([Buffer.from(`${texts}\0`), length, Buffer.from(json)]);
}

/** @param {string} folder @param {{engram: boolean, draft: boolean}} parts */
function smallConfig(folder, { engram, draft }) {
  const {
    architectures: _,
    dtype: __,
    text_config,
    ...config
  } = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  const text = {
    ...text_config,
    vocab_size: VOCAB,
    num_hidden_layers: 1,
    num_nextn_predict_layers: 1,
    n_routed_experts: 1,
    num_experts_per_tok: 1,
    dspark_n_routed_experts: 1,
    dspark_num_experts_per_tok: 1,
    dspark_target_layer_ids: [0],
    compress_ratios: draft ? [0, 0] : [0],
    kv_source_layer_ids: [],
    index_source_layer_ids: [],
    candidate_source_layer_id: null,
    engram_layer_ids: [0],
    engram_compressed_vocab_size: VOCAB / 2,
    dspark_noise_token_id: VOCAB - 1,
    engram_num_embeddings: text_config.engram_num_embeddings.slice(0, 1),
  };
  const left = Object.entries(text).filter(
    ([key]) => !UNREAD.test(key) && (engram || !OF_ENGRAM.test(key)) && (draft || !OF_DRAFT.test(key)),
  );
  return { ...config, text_config: Object.fromEntries(left) };
}

/** With a small vocabulary, one expert, and one layer whose taps the drafter reads. @param {string} name @param {number[]} shape */
function ownShape(name, shape) {
  const [rows = 0, ...rest] = shape;
  if (name.includes('main_proj')) return [rows, rows];
  if (/^(embed|head)\.|markov_head/.test(name)) return [VOCAB, ...rest];
  return name.includes('ffn.gate.') ? [1, ...rest] : shape;
}

/** @param {string} folder @returns {Record<string, {dtype: string, shape: number[]}>} */
function headsOf(folder) {
  const shards = readdirSync(folder).filter((name) => name.endsWith('.safetensors'));
  const heads = shards.map((name) => {
    const file = readFileSync(join(folder, name));
    return JSON.parse(file.toString('utf8', 8, 8 + Number(file.readBigUInt64LE(0))));
  });
  return Object.assign({}, ...heads);
}
