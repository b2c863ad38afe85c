// Runs the built command line in a folder of its own, with a fake engine and a tiny model. Fails when dist/ is stale: a test of
// yesterday's program proves nothing.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { isBuilt } from '../../../bin/setup/typescript.js';
import { header, tokenizerKeys } from '../../model/helpers/gguf-bytes.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
const FAKE_ENGINE = join(ROOT, 'test/fixtures/engines/fake-engine.mjs');

export interface Bench {
  readonly folder: string;
  path(name: string): string;
  write(name: string, value: unknown): string;
  rota(...argv: string[]): ReturnType<typeof start>;
  /** With more variables in its environment. */
  rotaWith(env: Readonly<Record<string, string>>, ...argv: string[]): ReturnType<typeof start>;
  /** What the command printed, with everything that changes from run to run replaced. */
  steady(text: string): string;
  remove(): void;
}

function start(folder: string, argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const places = ['--engines', join(folder, 'engines'), '--results', join(folder, 'results')];
  const [command, ...rest] = argv;
  const takesPlaces = command !== undefined && !/^-|^(doctor|model|quantise|bench|help)$/.test(command);
  const words = takesPlaces ? [command, ...places, ...rest] : argv;
  return execa(process.execPath, [join(ROOT, 'bin/rota.js'), ...words], {
    cwd: folder,
    reject: false,
    stdin: 'ignore',
    env: { NO_COLOR: '1', ...env },
  });
}

/** Runs of a few tens of milliseconds each: the command line is tested here, not the measuring. */
export function protocol(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    name: 'tiny',
    engine: 'fake',
    model: { path: 'model.gguf' }.path,
    baseline: 'base',
    arms: { base: { play: 'steady' }, fast: { play: 'steady', rate: 3000 } },
    blocks: 2,
    workloads: [{ class: 'prose', prompts: 'prose.yaml', perBlock: 1, maxNew: 8 }],
    warmup: { floorPromptsPerClass: 1, floorTokens: 0, windows: 3, capRequests: 4, capSeconds: 5 },
    telemetry: { periodMs: 50 },
    guards: { foreignCpuShare: 1 },
    ...changes,
  };
}

const FAKE = {
  name: 'fake',
  summary: 'plays an engine',
  command: [process.execPath, FAKE_ENGINE, '--model', '{model}'],
  transport: 'stdio',
  dialect: 'rota',
  ready: { timeoutS: 10 },
  stop: { graceS: 0.5 },
  tokenIds: true,
  counting: { file: 'disjoint', unit: 'lookup' },
  knobs: {
    play: { type: 'string', flag: '--play', default: 'steady', effect: 'exact', summary: 'what it plays' },
    rate: {
      type: 'number',
      flag: '--rate',
      min: 1,
      default: 2000,
      aliases: ['FAKE_RATE'],
      effect: 'exact',
      summary: 'tokens a second',
    },
    shift: {
      type: 'int',
      flag: '--shift',
      min: 0,
      default: 0,
      effect: 'lossy',
      summary: 'added to every token id',
    },
  },
};

export function createBench(): Bench {
  if (!isBuilt(ROOT)) throw new Error('dist/ is not built from these sources: run npm run build');
  const folder = mkdtempSync(join(tmpdir(), 'rota-cli-'));
  mkdirSync(join(folder, 'engines'));
  const write = (name: string, value: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, typeof value === 'string' || Buffer.isBuffer(value) ? value : stringify(value));
    return path;
  };
  write('engines/fake.yaml', FAKE);
  write('model.gguf', header(tokenizerKeys(['h e'])));
  write('prose.yaml', {
    prompts: Array.from({ length: 4 }, (_, i) => ({ text: `A sentence that is number ${i}.` })),
    warmup: [{ text: 'First of all.' }, { text: 'And then.' }],
  });
  write('tiny.yaml', protocol());
  return {
    folder,
    path: (name) => join(folder, name),
    write,
    rota: (...argv) => start(folder, argv),
    rotaWith: (env, ...argv) => start(folder, argv, env),
    steady: (text) => text.replaceAll(folder, '<bench>').replaceAll(ROOT, '<root>'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
