// Makes sure that a model which Rota makes by itself lies on the disk. Owns its name and its place; knows no engine and no protocol.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { EngineError, UserError } from '../core/errors.ts';
import { endedBy } from '../machine/tool.ts';
import { makeFolder } from '../results/files.ts';
import type { ProtocolModel } from '../schema/override.ts';
import { fileOrPartsExist } from './file-parts.ts';
import { bundledRecipe, digestOf, type Recipe, synthRecipe } from './recipes.ts';

export interface EnsureModelOptions {
  /** The built rota-model. */
  readonly tool: string;
  /** Where models are kept between runs. */
  readonly folder: string;
  /** The project's folder, in which bundled weights lie. */
  readonly root: string;
  readonly onProgress?: ((line: string) => void) | undefined;
  /** How far the tool is, once a second. */
  readonly onStep?: ((line: string) => void) | undefined;
  /** Ends the writing; nothing of it stays. */
  readonly signal?: AbortSignal | undefined;
}

/** As rota-model writes it (native/tools/writing.cc). */
const STEP = /: \d+ %, \d+ s left$/;

/** A path is given back as it is; any other model is made when it is not there yet. Returns the model's path. */
export async function ensureModel(model: ProtocolModel, options: EnsureModelOptions): Promise<string> {
  if ('path' in model) {
    if (fileOrPartsExist(model.path)) return model.path;
    throw new UserError('no such model', { where: model.path, hint: 'name a file or folder that exists' });
  }
  const recipe = 'synth' in model ? synthRecipe(model.synth) : bundledRecipe(model, options.root);
  const name = await modelName(recipe, options.tool);
  const path = join(options.folder, name);
  if (existsSync(path)) return path;
  options.onProgress?.(`${recipe.told} ${name}`);
  await write(recipe, options, name);
  await removeStale(recipe, options.folder, name);
  return path;
}

/** The same words to the same tool over the same files give the same bytes, so the name holds a hash of all. */
export async function modelName(recipe: Recipe, tool: string): Promise<string> {
  return `${recipe.words}-${await digestOf(tool, recipe.inputs)}.gguf`;
}

/** A rebuilt tool writes the same recipe anew; what the one before it wrote is of no use to anyone, and may be large. */
async function removeStale(recipe: Recipe, folder: string, name: string): Promise<void> {
  for (const file of await readdir(folder)) {
    const [, words, tool] = /^(.+)-([0-9a-f]{8})(?:\.[a-z]+)+$/.exec(file) ?? [];
    if (words !== recipe.words || name === `${words}-${tool}.gguf`) continue;
    await rm(join(folder, file), { force: true });
  }
}

/** Written in a folder of its own, then moved, the model last: a half-written or sidecar-less one is never seen. */
async function write(recipe: Recipe, options: EnsureModelOptions, name: string): Promise<void> {
  makeFolder(options.folder);
  const scratch = await mkdtemp(join(options.folder, '.writing-'));
  try {
    const argv = [...recipe.argv, '--out', join(scratch, name)];
    const writing = execa(options.tool, argv, {
      reject: false,
      stdin: 'ignore',
      env: { ROTA_PROGRESS: 'lines' },
      // Of its own accord it ends with what went wrong; how far it is belongs in no message.
      *stderr(line: unknown) {
        if (STEP.test(String(line))) options.onStep?.(String(line));
        else yield line;
      },
    });
    const result = await endedBy(options.signal, writing);
    if (result.exitCode !== 0) throw toolFailed(recipe, argv, result);
    const files = (await readdir(scratch)).sort((a, b) => Number(a === name) - Number(b === name));
    if (files.at(-1) !== name)
      throw new EngineError(`rota-model ${argv[0]} ended well but wrote no ${name}`, { phase: 'model' });
    for (const file of files) await rename(join(scratch, file), join(options.folder, file));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function toolFailed(
  recipe: Recipe,
  argv: readonly string[],
  result: {
    readonly exitCode?: number | undefined;
    readonly signal?: NodeJS.Signals | undefined;
    readonly stderr: string;
  },
): Error {
  const lines = result.stderr.trimEnd().split('\n');
  const last = lines.at(-1) ?? '';
  if (result.exitCode === 2) return new UserError(last, { where: recipe.where });
  return new EngineError(`rota-model ${argv.slice(0, 5).join(' ')} failed: ${last}`, {
    phase: 'model',
    exit: result.exitCode ?? result.signal,
    logTail: lines.slice(-40),
  });
}
