// Owns the build of a bundled engine: configure, compile, and on failure the lines that say why. Knows no engine by name.

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { EngineError, UserError } from '../core/errors.ts';
import { endedBy } from '../machine/tool.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import type { Knobs } from '../schema/knobs.ts';
import { cleanLines } from './log-tail.ts';

export interface BuildProgress {
  readonly step: 'configure' | 'compile';
  /** "[12/80] Building CXX object …", or null before the first line. */
  readonly line: string | null;
  readonly seconds: number;
}

export interface BuildOptions {
  readonly descriptor: EngineDescriptor;
  readonly root: string;
  /** Another than the descriptor's. */
  readonly preset?: string | undefined;
  readonly onProgress?: (progress: BuildProgress) => void;
  /** Not below 1; the number of cores by default. */
  readonly jobs?: number;
  /** Ends it and every compiler; the next build goes on where this one was. */
  readonly signal?: AbortSignal | undefined;
}

export interface BuildResult {
  readonly binary: string;
  readonly logFile: string;
  readonly seconds: number;
}

/** The preset whose programs serve an arm with these knobs. Empty: nothing is built. */
export function presetOf({ build }: EngineDescriptor, knobs: Knobs): string {
  const { knob = '', pattern = '' } = build?.presetBy ?? {};
  const value = knobs[knob];
  const found = value === undefined ? undefined : new RegExp(pattern).exec(String(value))?.[1];
  return found ?? build?.preset ?? '';
}

/** What makes the programs that such an arm runs. */
export function buildCommand(descriptor: EngineDescriptor, knobs: Knobs): string {
  const preset = presetOf(descriptor, knobs);
  const isUsual = preset === presetOf(descriptor, {});
  return `rota build ${descriptor.name}${isUsual ? '' : ` --preset ${preset}`}`;
}

/** Where the program for an arm with these knobs lies: below the project's root unless the descriptor says otherwise. */
export function binaryPath(descriptor: EngineDescriptor, root: string, knobs: Knobs = {}): string | null {
  return binaryOf(descriptor, root, presetOf(descriptor, knobs));
}

function binaryOf({ binary }: EngineDescriptor, root: string, preset: string): string | null {
  return binary === undefined
    ? null
    : path.resolve(
        root,
        binary.replaceAll('{preset}', () => preset),
      );
}

async function isInstalled(program: string): Promise<boolean> {
  return (await execa(program, ['--version'], { reject: false })).exitCode === 0;
}

async function configureArgs(native: string, preset: string): Promise<string[]> {
  // A folder that was configured once keeps its generator; cmake refuses to change it.
  const isConfigured = existsSync(path.join(native, 'build', preset, 'CMakeCache.txt'));
  const ninja = !isConfigured && (await isInstalled('ninja')) ? ['-G', 'Ninja'] : [];
  return ['--preset', preset, ...ninja];
}

/** The first error and what follows it say more than the last lines of a build that went on in other files. */
function reasonLines(logFile: string): string[] {
  const lines = cleanLines(readFileSync(logFile, 'utf8'));
  const first = lines.findIndex((line) => /\berror\b|undefined reference/i.test(line));
  return first < 0 ? lines.slice(-20) : lines.slice(first, first + 20);
}

async function runStep(
  step: BuildProgress['step'],
  args: readonly string[],
  at: { readonly cwd: string; readonly log: number; readonly logFile: string },
  { onProgress, signal: interrupt }: BuildOptions,
): Promise<void> {
  const begin = performance.now();
  const seconds = (): number => (performance.now() - begin) / 1000;
  writeSync(at.log, `$ cmake ${args.join(' ')}\n`);
  onProgress?.({ step, line: null, seconds: 0 });
  const child = execa('cmake', args, {
    cwd: at.cwd,
    all: true,
    buffer: false,
    reject: false,
    stdin: 'ignore',
  });
  child.all.on('data', (chunk: Buffer) => {
    writeSync(at.log, chunk);
    const line = cleanLines(chunk.toString('utf8')).at(-1);
    if (line !== undefined) onProgress?.({ step, line, seconds: seconds() });
  });
  const { exitCode, signal } = await endedBy(interrupt, child);
  if (exitCode === 0) return;
  throw new EngineError(`cmake could not ${step}: see ${at.logFile}`, {
    phase: 'build',
    exit: signal ?? exitCode,
    logTail: reasonLines(at.logFile),
  });
}

export async function buildEngine(options: BuildOptions): Promise<BuildResult> {
  const { descriptor, root } = options;
  const preset = options.preset ?? presetOf(descriptor, {});
  const binary = binaryOf(descriptor, root, preset);
  if (descriptor.build === undefined || binary === null) {
    throw new UserError(`${descriptor.name} has nothing to build: its descriptor names no build`, {
      where: `engines/${descriptor.name}.yaml`,
    });
  }
  if (!(await isInstalled('cmake'))) {
    throw new EngineError('cmake is not installed: apt-get install cmake g++ ninja-build', {
      phase: 'build',
    });
  }
  const native = path.join(root, 'native');
  const { targets } = descriptor.build;
  mkdirSync(path.join(native, 'build'), { recursive: true });
  const logFile = path.join(native, 'build', `${descriptor.name}.log`);
  const begin = performance.now();
  const log = openSync(logFile, 'w');
  try {
    const at = { cwd: native, log, logFile };
    const jobs = String(Math.max(1, options.jobs ?? availableParallelism()));
    await runStep('configure', await configureArgs(native, preset), at, options);
    const compile = ['--build', '--preset', preset, '--parallel', jobs, '--target', ...targets];
    await runStep('compile', compile, at, options);
  } finally {
    closeSync(log);
  }
  if (!existsSync(binary)) {
    throw new EngineError(`the build made no ${binary}: the descriptor's binary and targets do not agree`, {
      phase: 'build',
    });
  }
  return { binary, logFile, seconds: (performance.now() - begin) / 1000 };
}
