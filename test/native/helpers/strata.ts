// A child rota-strata and the small conversation that these tests have with it. Knows no src/: it reads the raw protocol.

import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

export const bin =
  process.env['ROTA_BUILD'] ?? path.resolve(import.meta.dirname, '../../../native/build/host/bin');
const binary = path.join(bin, 'rota-strata');
/** A sanitizer reserves terabytes of address space: a limit of it can't be tested there. */
export const isSanitized = process.env['ROTA_SANITIZER'] !== undefined;
/** It computes ten to fifty times slower too: a long answer is shorter there, and what was started is waited for longer. */
const SANITIZED_SHARE = 5;
export const lighter = (tokens: number): number =>
  isSanitized ? Math.ceil(tokens / SANITIZED_SHARE) : tokens;
export const PATIENCE_MS = isSanitized ? 600_000 : 30_000;

export type Json = Record<string, unknown>;
export type Source = 'hit' | 'pcie' | 'cpu' | 'file';
export const SOURCES: readonly Source[] = ['hit', 'pcie', 'cpu', 'file'];

export interface Work extends Record<Source, number> {
  passes: number;
  rows: number;
  head_rows: number;
  lookups: number;
  skipped: number;
  distinct: Record<Source, number>;
  bytes: Record<Source | 'dense' | 'engram', number>;
}

export interface Counters extends Work {
  late: number;
  offered: number;
  accepted: number;
  prefill: Work;
  draft: { lookups: number; bytes: number; dense_bytes: number };
  engram: { rows: number; bytes: number };
  prefetch: { issued: number; useful: number; late: number; unused_bytes: number };
  admitted: number;
  demoted: number;
}

export interface Done {
  event: 'done';
  id: number;
  ids: number[];
  finish: string;
  pass_ms: number[];
  pass_tokens: number[];
  ttft_ms: number;
  timings: Record<string, number | null>;
  counters: Counters;
  digest: { ids: string; logits: string | null };
  lossy: string[];
}

export interface Ready {
  event: 'ready';
  engine: string;
  device: string;
  fingerprint: string;
  draft_fingerprint: string | null;
  model: Record<'layers' | 'moe_layers' | 'experts' | 'top_k' | 'vocab' | 'draft_block', number>;
  formats: Record<string, number>;
  blob_bytes: Record<string, number>;
  sizes: Record<string, number | boolean>;
  threads: number;
  machine: {
    thread_cpus: string[];
    numa_memory: string;
    node_bytes: Record<string, number>;
    huge_bytes: number;
    resident_bytes: number;
  };
  rank: { order: string; file?: string; sha256?: string };
  chosen: Record<string, Record<string, number | string>>;
  knobs: Record<string, string | number>;
  environment: { knob: string; variable: string; value: string }[];
  lossy: string[];
  load: { ms: number; read_bytes: number };
}

export interface Score {
  event: 'score';
  logprobs: number[];
  digest: { logits: string };
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A folder that vitest's afterAll removes. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'rota-native-'));
  return { path: folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export function synthesise(folder: string, config: string, ...options: string[]): string {
  const file = path.join(folder, `${config}.gguf`);
  execFileSync(
    path.join(bin, 'rota-model'),
    ['synth', '--config', config, '--seed', '1', '--out', file, ...options],
    {
      stdio: 'pipe',
    },
  );
  return file;
}

/** Runs it to its end with everything on stdin at once. */
export function runStrata(
  args: readonly string[],
  input = '',
  env: Readonly<Record<string, string>> = {},
): Exit {
  const { status, signal, stdout, stderr } = spawnSync(binary, args, {
    input,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: PATIENCE_MS,
  });
  return { code: status, signal, stdout, stderr };
}

/** The engine refuses a flag that is given twice; a test's own knobs stand for those that it shares with others. */
function lastOfEach(args: readonly string[]): string[] {
  const flags = new Map<string, string[]>();
  for (const [i, word] of args.entries()) {
    if (!word.startsWith('--')) continue;
    const [name = word] = word.split('=');
    const value = args[i + 1];
    flags.set(name, value === undefined || value.startsWith('--') ? [word] : [word, value]);
  }
  return [...flags.values()].flat();
}

export class Strata implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly events: Json[] = [];
  readonly #waiting: ((event: Json) => void)[] = [];
  readonly exited: Promise<Exit>;
  #stderr = '';
  #read = 0;
  #nextId = 1;

  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    prefix: readonly string[] = [],
  ) {
    const [program = binary, ...words] = [...prefix, binary, ...lastOfEach(args)];
    this.child = spawn(program, words, { env: { ...process.env, ...env } });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      this.events.push(JSON.parse(line) as Json);
      while (this.#read < this.events.length) {
        const waiting = this.#waiting.shift();
        if (waiting === undefined) break;
        waiting(this.events[this.#read++] as Json);
      }
    });
    this.child.stdin.on('error', () => {});
    this.exited = once(this.child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout: '',
      stderr: this.#stderr,
    }));
  }

  /** Starts it and waits until it is ready. */
  static async start(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    prefix: readonly string[] = [],
  ): Promise<{ engine: Strata; ready: Ready }> {
    const engine = new Strata(args, env, prefix);
    return { engine, ready: (await engine.next('ready')) as unknown as Ready };
  }

  get stderr(): string {
    return this.#stderr;
  }

  send(body: Json | string): void {
    this.child.stdin.write(`${typeof body === 'string' ? body : JSON.stringify(body)}\n`);
  }

  /** The next event of that name; anything but progress in between is a failure. */
  async next(name: string): Promise<Json> {
    for (;;) {
      const event = await this.#nextEvent();
      if (event['event'] === name) return event;
      if (event['event'] !== 'loading' && event['event'] !== 'tokens')
        throw new Error(`expected ${name}, got ${JSON.stringify(event).slice(0, 400)}`);
    }
  }

  #nextEvent(): Promise<Json> {
    const event = this.events[this.#read];
    if (event !== undefined) {
      this.#read += 1;
      return Promise.resolve(event);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push(resolve);
      void this.exited.then(({ code, stderr }) => reject(new Error(`it ended with ${code}: ${stderr}`)));
    });
  }

  async generate(body: Json): Promise<Done> {
    this.send({ id: this.#nextId++, op: 'generate', ignore_eos: true, ...body });
    return (await this.next('done')) as unknown as Done;
  }

  async score(tokens: readonly number[]): Promise<Score> {
    this.send({ id: this.#nextId++, op: 'score', tokens });
    return (await this.next('score')) as unknown as Score;
  }

  async reset(): Promise<void> {
    this.send({ id: this.#nextId++, op: 'reset' });
    await this.next('reset');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5_000);
    await this.exited;
    clearTimeout(timer);
  }
}

/** Starts, generates once for each body, ends. */
export async function generateOnce(
  args: readonly string[],
  ...bodies: Json[]
): Promise<{ ready: Ready; done: Done[] }> {
  const { engine, ready } = await Strata.start(args);
  await using _ = engine;
  const done: Done[] = [];
  for (const body of bodies) done.push(await engine.generate(body));
  return { ready, done };
}

/** Ids below the vocabulary, the same for the same seed. */
export function promptOf(length: number, vocab: number, seed = 1): number[] {
  return Array.from({ length }, (_, i) => (((i + 1) * 7919 * seed + i * i * 31) % (vocab - 3)) + 3);
}
