// Where fuzzing starts: small texts that are kept, and heads of the synthetic models, which are made anew. Owns which target gets what.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Enough for the keys and tensors of a mini model; its data begins at the next multiple of 4096. */
const HEAD_BYTES = 64 * 1024;

/**
 * The bytes of a GGUF before its first tensor list, with a tensor count of 0: keys only.
 * @param {Buffer} file
 */
export function keysOnly(file) {
  const keys = Number(file.readBigUInt64LE(16));
  let at = 24;
  const step = (/** @type {number} */ bytes) => {
    at += bytes;
    return at - bytes;
  };
  const u64 = () => Number(file.readBigUInt64LE(step(8)));
  const u32 = () => file.readUInt32LE(step(4));
  const sizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
  const skip = (/** @type {number} */ type, /** @type {number} */ count) => {
    if (type !== 8) step((sizes[type] ?? 0) * count);
    else for (let i = 0; i < count; ++i) step(u64());
  };
  for (let i = 0; i < keys; ++i) {
    step(u64());
    const type = u32();
    if (type !== 9) skip(type, 1);
    else {
      const element = u32();
      skip(element, u64());
    }
  }
  const out = Buffer.from(file.subarray(0, at));
  out.writeBigUInt64LE(0n, 8);
  return out;
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

/**
 * Small on purpose: an input is mutated by bytes, and most of a large one is never reached.
 * @param {{names: readonly string[], native: string, build: string, work: string}} place
 */
export function writeSeeds(place) {
  const models = ['mini-xs', 'mini-xs2'].map((config) => synthetic(place, config));
  /** @type {Record<string, Buffer[]>} */
  const made = {
    gguf: models.flatMap(({ model, sidecar }) => [keysOnly(model), keysOnly(sidecar)]),
    gguf_config: models.map(({ model }) => keysOnly(model)),
    parts: models.map(({ model }) => Buffer.concat([Buffer.from([255, 255]), keysOnly(model)])),
    sidecar: models.map(({ sidecar }) => keysOnly(sidecar)),
    weight_source: models.map(({ model }) => model.subarray(0, HEAD_BYTES)),
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
