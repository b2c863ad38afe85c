// How each model that Rota makes by itself is made: by which words of rota-model, out of which files. Runs nothing.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from '../core/errors.ts';
import type { BundledModel, SynthModel } from '../schema/override.ts';

export interface Recipe {
  /** What the models of one recipe have in common, whatever made them of it: the beginning of their file names. */
  readonly words: string;
  /** Arguments of rota-model, without the file to write. */
  readonly argv: readonly string[];
  /** Files and folders whose contents decide what comes out, beside the tool's own. */
  readonly inputs: readonly string[];
  readonly told: string;
  /** The key of a protocol that a mistake in it would be in. */
  readonly where: string;
}

/** In this order: the words are part of a file's name. */
const SYNTH_FLAGS = {
  config: '--config',
  seed: '--seed',
  expertFormat: '--expert-format',
  denseFormat: '--dense-format',
  layout: '--layout',
  engramFormat: '--engram-format',
  layers: '--layers',
  engramRows: '--engram-rows',
  hotExperts: '--hot-experts',
  hotLookups: '--hot-lookups',
  values: '--values',
} as const satisfies Record<keyof Omit<SynthModel, 'checkMemory'>, string>;

export function synthRecipe(spec: SynthModel): Recipe {
  const flags = Object.entries(SYNTH_FLAGS).flatMap(([key, flag]) => {
    const value = spec[key as keyof typeof SYNTH_FLAGS];
    return value === undefined ? [] : [flag, String(value)];
  });
  return {
    words: `${spec.config}-seed${spec.seed}-${shortHash(JSON.stringify(flags))}`,
    // Asked or not, the bytes are the same.
    argv: ['synth', ...flags, ...(spec.checkMemory === false ? ['--check-memory', 'off'] : [])],
    inputs: [],
    told: 'writing the synthetic model',
    where: 'model.synth',
  };
}

/** `root`: the project's folder, in which the bundled weights lie. */
export function bundledRecipe({ bundled, form = 'few-bit' }: BundledModel, root: string): Recipe {
  const folder = join(root, 'native', 'models', bundled);
  const checkpoint = join(folder, 'checkpoint');
  const text = join(folder, 'calibration');
  const where = 'model.bundled';
  if (form === 'teacher') {
    const argv = ['convert', checkpoint];
    const told = 'converting the bundled model as it was trained';
    return { words: `${bundled}-teacher`, argv, inputs: [checkpoint], told, where };
  }
  return {
    words: bundled,
    argv: ['quantise', checkpoint, '--text', join(text, 'fit.ids'), '--held-out', join(text, 'held.ids')],
    inputs: [checkpoint, text],
    told: 'fitting the experts of the bundled model to a few bits (once; minutes)',
    where,
  };
}

/** Of the tool and of all inputs: what decides the bytes that a recipe gives. */
export async function digestOf(tool: string, inputs: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  await addFile(hash, tool, `rota-model is not built (${tool}); run: rota build strata`);
  for (const input of inputs) {
    const names = await filesOf(input);
    for (const name of names) {
      hash.update(`\0${name}\0`);
      await addFile(hash, join(input, name), `${join(input, name)} cannot be read`);
    }
  }
  return hash.digest('hex').slice(0, 8);
}

async function filesOf(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    throw new EngineError(`${folder}: the bundled model is not there`, { phase: 'model' });
  }
}

async function addFile(hash: ReturnType<typeof createHash>, path: string, otherwise: string): Promise<void> {
  try {
    if (!(await stat(path)).isFile()) return;
    for await (const piece of createReadStream(path)) hash.update(piece);
  } catch {
    throw new EngineError(otherwise, { phase: 'build' });
  }
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
