// Makes sure that a synthetic model lies on the disk. Owns its name and its place; knows no engine and no protocol.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { EngineError, UserError } from '../core/errors.ts';
import { endedBy } from '../machine/tool.ts';
import type { ProtocolModel, SynthModel } from '../schema/override.ts';
import { fileOrPartsExist } from './file-parts.ts';

export interface EnsureModelOptions {
  /** The built rota-model. */
  readonly tool: string;
  /** Where models are kept between runs. */
  readonly folder: string;
  readonly onProgress?: ((line: string) => void) | undefined;
  /** Ends the writing; nothing of it stays. */
  readonly signal?: AbortSignal | undefined;
}

/** A path is given back as it is; a synthetic model is written when it is not there yet. Returns the model's path. */
export async function ensureModel(model: ProtocolModel, options: EnsureModelOptions): Promise<string> {
  if ('path' in model) {
    if (fileOrPartsExist(model.path)) return model.path;
    throw new UserError('no such model', { where: model.path, hint: 'name a file or folder that exists' });
  }
  const name = `${await modelName(model.synth, options.tool)}.gguf`;
  const path = join(options.folder, name);
  if (existsSync(path)) return path;
  options.onProgress?.(`writing the synthetic model ${name}`);
  await write(model.synth, options, name);
  await removeStale(model.synth, options.folder, name);
  return path;
}

/** The same words to the same tool give the same bytes, so the name holds a hash of each. */
export async function modelName(spec: SynthModel, tool: string): Promise<string> {
  return `${wordsOf(spec)}-${hash(await readTool(tool))}`;
}

/** What the models of one spec have in common, whichever tool wrote them. */
function wordsOf(spec: SynthModel): string {
  return `${spec.config}-seed${spec.seed}-${hash(JSON.stringify(flags(spec)))}`;
}

function hash(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex').slice(0, 8);
}

/** A rebuilt tool writes the same spec anew; what the one before it wrote is of no use to anyone, and may be large. */
async function removeStale(spec: SynthModel, folder: string, name: string): Promise<void> {
  const stem = name.slice(0, -'.gguf'.length);
  for (const file of await readdir(folder)) {
    const [, words, tool] = /^(.+)-([0-9a-f]{8})(?:\.dspark)?\.gguf$/.exec(file) ?? [];
    if (words !== wordsOf(spec) || `${words}-${tool}` === stem) continue;
    await rm(join(folder, file), { force: true });
  }
}

function flags(spec: SynthModel): readonly string[] {
  return [
    ...['--config', spec.config, '--seed', String(spec.seed)],
    ...(spec.expertFormat === undefined ? [] : ['--expert-format', spec.expertFormat]),
    ...(spec.denseFormat === undefined ? [] : ['--dense-format', spec.denseFormat]),
    ...(spec.layout === undefined ? [] : ['--layout', spec.layout]),
  ];
}

async function readTool(tool: string): Promise<Buffer> {
  try {
    return await readFile(tool);
  } catch {
    throw new EngineError(`rota-model is not built (${tool}); run: rota build strata`, { phase: 'build' });
  }
}

/** Written in a folder of its own, then moved, the model last: a half-written or sidecar-less one is never seen. */
async function write(spec: SynthModel, options: EnsureModelOptions, name: string): Promise<void> {
  await mkdir(options.folder, { recursive: true });
  const scratch = await mkdtemp(join(options.folder, '.writing-'));
  try {
    const argv = ['synth', ...flags(spec), '--out', join(scratch, name)];
    const writing = execa(options.tool, argv, { reject: false, stdin: 'ignore' });
    const result = await endedBy(options.signal, writing);
    if (result.exitCode !== 0) throw synthFailed(argv, result);
    const files = (await readdir(scratch)).sort((a, b) => Number(a === name) - Number(b === name));
    if (files.at(-1) !== name)
      throw new EngineError(`rota-model synth ended well but wrote no ${name}`, { phase: 'model' });
    for (const file of files) await rename(join(scratch, file), join(options.folder, file));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function synthFailed(
  argv: readonly string[],
  result: {
    readonly exitCode?: number | undefined;
    readonly signal?: NodeJS.Signals | undefined;
    readonly stderr: string;
  },
): Error {
  const lines = result.stderr.trimEnd().split('\n');
  const last = lines.at(-1) ?? '';
  if (result.exitCode === 2) return new UserError(last, { where: 'model.synth' });
  return new EngineError(`rota-model ${argv.slice(0, 5).join(' ')} failed: ${last}`, {
    phase: 'model',
    exit: result.exitCode ?? result.signal,
    logTail: lines.slice(-40),
  });
}
