// Where fuzzing starts: small texts that are kept, and heads of the synthetic models, which are made anew. Owns which target gets what.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { smallCheckpoint } from './checkpoint-texts.js';
import { everyKind, readHead, withValue, writeHead } from './gguf-head.js';

/** What stays of mini-xs: its layers 1 (Engram) and 2 (a cache of its own) as 0 and 1, two experts and 16 words. */
const FIRST = 1;
const LAYERS = 2;
const EXPERTS = 2;
const VOCAB = 16;
/** @type {Record<string, number | number[]>} a number for a list: how many of its values stay */
const VALUES = {
  block_count: LAYERS,
  vocab_size: VOCAB,
  'attention.compress_ratios': [0, 2],
  'attention.kv_source_layer_ids': [1],
  'attention.index_source_layer_ids': [1],
  'attention.candidate_source_layer_id': 1,
  expert_count: EXPERTS,
  swiglu_clamp_exp: LAYERS,
  'engram.layer_ids': [0],
  'engram.primes': 6,
  'engram.offsets': 6,
  'engram.multipliers': 4,
  'engram.token_map': VOCAB,
  'engram.compressed_vocab_size': VOCAB / 2,
};
/** @type {readonly (readonly [RegExp, number])[]} tensors whose last dimension is another */
const SHORTER = [
  [/^(token_embd|output)\.weight/, VOCAB],
  [/_exps|gate_inp|probs_b/, EXPERTS],
];
/** Keys that no reader of the model takes, and the alignment, whose default makes shorter files. */
const UNREAD =
  /alignment|41\.context_length|value_length|hash_layer|scaling.type|weights_norm|clamp_shexp|num_embeddings/;
/** What family B infers its lists of layers from. */
const INFERRED = /attn_compressor_kv|indexer.attn_k|indexer.attn_q_b/;

/**
 * The head of mini-xs, small: an input is mutated by bytes, and most of a large one is never reached.
 * @param {Buffer} file
 * @returns {import('./gguf-head.js').Head}
 */
function smallModel(file) {
  const { keys, tensors } = readHead(file);
  const kept = tensors.flatMap((tensor) => {
    const layer = Number(/^blk\.(\d+)/.exec(tensor.name)?.[1] ?? FIRST) - FIRST;
    const name = tensor.name.replace(/^blk\.\d+/, `blk.${layer}`);
    return layer >= 0 && layer < LAYERS ? [{ ...tensor, name }] : [];
  });
  return {
    keys: keys
      .filter(({ name }) => !UNREAD.test(name))
      .map((key) => {
        const value = VALUES[key.name.replace('deepseek41.', '')];
        return value === undefined ? key : withValue(key, value);
      }),
    tensors: kept.map((tensor) => {
      const size = SHORTER.find(([name]) => name.test(tensor.name))?.[1];
      return size === undefined ? tensor : { ...tensor, ne: [...tensor.ne.slice(0, -1), size] };
    }),
  };
}

/** A layer alone, with an Engram, with a drafter. */
const PARTS = [
  { engram: false, draft: false },
  { engram: true, draft: false },
  { engram: false, draft: true },
];

/** Room for tensors that lie on one another at the beginning of the data, behind it up to the alignment. */
const ROOM = Buffer.alloc(64);

/**
 * Its keys, and of its tensors only what says which layers have something, one number each, with room for it.
 * @param {import('./gguf-head.js').Head} head
 */
function keysOf({ keys, tensors }) {
  const inferred = tensors.filter(({ name }) => INFERRED.test(name));
  const head = writeHead({ keys, tensors: inferred.map((tensor) => ({ ...tensor, ne: [1], format: 0 })) });
  return Buffer.concat([head, ROOM]);
}

/**
 * @param {{build: string, work: string}} place
 * @param {string} config
 * @param {readonly string[]} more
 */
function synthetic({ build, work }, config, ...more) {
  const out = join(work, 'models', `${config}${more.join('')}.gguf`.replaceAll('--', '-'));
  mkdirSync(join(work, 'models'), { recursive: true });
  const argv = ['synth', '--config', config, '--seed', '1', '--out', out, ...more];
  const { status, stderr } = spawnSync(join(build, 'bin/rota-model'), argv, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`rota-model ${argv.join(' ')}: ${stderr}`);
  return { model: readFileSync(out), sidecar: readFileSync(out.replace(/\.gguf$/, '.dspark.gguf')) };
}

/** @param {{names: readonly string[], native: string, build: string, work: string}} place */
export function writeSeeds(place) {
  const files = ['ours', 'a', 'b'].map((layout) => synthetic(place, 'mini-xs', '--layout', layout));
  const models = files.map(({ model }) => smallModel(model));
  const sidecars = files.slice(0, 1).map(({ sidecar }) => ({ ...readHead(sidecar), tensors: [] }));
  const keys = models.map(keysOf);
  const everything = Buffer.concat([writeHead(everyKind()), ROOM]);
  /** @type {Record<string, Buffer[]>} */
  const made = {
    checkpoint: PARTS.map((parts) => smallCheckpoint(join(place.native, 'models/mini/checkpoint'), parts)),
    gguf: [everything, ...sidecars.map(keysOf)],
    gguf_config: keys,
    parts: [everything, ...sidecars.map(keysOf)].map((file) => Buffer.concat([Buffer.from([1, 80]), file])),
    sidecar: sidecars.map(keysOf),
    weight_source: models.map(writeHead),
  };
  for (const name of place.names) {
    const folder = join(place.work, 'seeds', name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const kept = join(place.native, 'fuzz/seeds', name);
    if (existsSync(kept)) cpSync(kept, folder, { recursive: true });
    for (const [i, bytes] of (made[name] ?? []).entries()) writeFileSync(join(folder, `made-${i}`), bytes);
    if (readdirSync(folder).length === 0)
      throw new Error(`no seeds for ${name}: put some into native/fuzz/seeds`);
  }
}
