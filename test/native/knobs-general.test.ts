// Knobs of the device, the numbers and the CPUs: those that are exact change no output, those that round change it by a rounding.

import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Done,
  generateOnce,
  type Json,
  promptOf,
  runStrata,
  type Score,
  Strata,
} from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { model } = withModel('mini-xs');
const tokens = promptOf(60, 128, 3);
const body: Json = { prompt: promptOf(40, 128), max_new: 24 };
let base: Done;
let baseScore: Score;

beforeAll(async () => {
  const { engine } = await Strata.start(args());
  await using _ = engine;
  base = await engine.generate(body);
  baseScore = await engine.score(tokens);
});

function args(...knobs: string[]): string[] {
  return ['--model', model, '--ctx', '256', '--slots', '25%', '--arena', '25%', '--depth', '0', ...knobs];
}

async function scoreWith(
  knobs: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Score & { readonly knobs: Record<string, unknown> }> {
  const { engine, ready } = await Strata.start(args(...knobs), env);
  await using _ = engine;
  return { ...(await engine.score(tokens)), knobs: ready.knobs };
}

/** Mean change of a log-probability. */
function drift(a: Score, b: Score): number {
  const changes = a.logprobs.map((value, i) => Math.abs(value - (b.logprobs[i] ?? Number.NaN)));
  return changes.reduce((sum, each) => sum + each, 0) / changes.length;
}

/** How much the tokens' log-probabilities differ among themselves: what an unrelated model would be off by. */
function spread({ logprobs }: Score): number {
  const mean = logprobs.reduce((sum, each) => sum + each, 0) / logprobs.length;
  return Math.sqrt(logprobs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / logprobs.length);
}

function tasks({ child }: Strata): number {
  return readdirSync(`/proc/${child.pid}/task`).length;
}

describe('knob: device', () => {
  test('host is what a build without a GPU has, and ready says so', async () => {
    const { ready, done } = await generateOnce(args('--device', 'host'), body);
    expect(ready.device).toBe('host');
    expect(done[0]?.digest).toEqual(base.digest);
  });

  test('a device that is not there and one that is none are refused by name', () => {
    const gone = runStrata(args('--device', 'cuda:0'));
    expect([gone.code, gone.stderr]).toMatchInlineSnapshot(`
      [
        3,
        "rota-strata: --device cuda:0: no CUDA device: this build computes on the host only; use --device host
      ",
      ]
    `);
    const none = runStrata(args('--device', 'gpu'));
    expect([none.code, none.stderr]).toMatchInlineSnapshot(`
      [
        2,
        "rota-strata: --device: "gpu" is unknown: host or cuda:N
      ",
      ]
    `);
  });
});

describe('knob: kv-quant', () => {
  test('off leaves the rounding of the caches out: other logits, nearly the same', async () => {
    const off = await scoreWith(['--kv-quant', 'off']);
    expect(off.knobs['kv-quant']).toBe('off');
    expect(off.digest).not.toEqual(baseScore.digest);
    expect(drift(off, baseScore)).toBeLessThan(spread(baseScore) / 4);
    expect((await scoreWith(['--kv-quant', 'on'])).digest).toEqual(baseScore.digest);
  });
});

describe('knob: act-quant', () => {
  test('on rounds the inputs of quantised linears: other logits, nearly the same', async () => {
    const on = await scoreWith(['--act-quant', 'on']);
    expect(on.knobs['act-quant']).toBe('on');
    expect(on.digest).not.toEqual(baseScore.digest);
    expect(drift(on, baseScore)).toBeLessThan(spread(baseScore) / 4);
    expect((await scoreWith(['--act-quant', 'off'])).digest).toEqual(baseScore.digest);
  });
});

describe('knob: cpu', () => {
  test('portable computes without the vector kernels: the last bits differ where there are any', async () => {
    const portable = await scoreWith([], { ROTA_CPU: 'portable' });
    const hasVectors = /^flags\s*:.*\bavx2\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
    expect(portable.digest.logits === baseScore.digest.logits).toBe(!hasVectors);
    // fp32 sums of a few hundred terms over 8 layers: some tens of roundings of 6e-8 relative to logits of about 10.
    expect(drift(portable, baseScore)).toBeLessThan(1e-4);
    expect((await scoreWith([], { ROTA_CPU: 'auto' })).digest).toEqual(baseScore.digest);
    // Dense rows stop at AVX2, and the experts' integer kernels give the same bits in every variant.
    if (hasVectors) expect((await scoreWith([], { ROTA_CPU: 'avx2' })).digest).toEqual(baseScore.digest);
  });
});

describe('knob: cpus', () => {
  test('the engine has only the CPUs of the list, and says the same', async () => {
    const { engine, ready } = await Strata.start(args(), {}, ['taskset', '-c', '0']);
    await using _ = engine;
    const status = readFileSync(`/proc/${engine.child.pid}/status`, 'utf8');
    expect(/^Cpus_allowed_list:\s+(.*)$/m.exec(status)?.[1]).toBe('0');
    expect(ready.threads).toBe(1);
    const done = await engine.generate(body);
    expect([done.ids, done.digest]).toEqual([base.ids, base.digest]);
    expect(done.counters.passes).toBe(base.counters.passes);
  });
});

describe('knob: file-readers', () => {
  test('that many threads read the file tier, and the output and its counters stay', async () => {
    const seen: number[] = [];
    for (const readers of [1, 6]) {
      const { engine, ready } = await Strata.start(args('--file-readers', String(readers)));
      await using _ = engine;
      expect(ready.knobs['file-readers']).toBe(readers);
      const done = await engine.generate(body);
      seen.push(tasks(engine));
      expect(done.counters.file).toBeGreaterThan(0);
      expect([done.ids, done.digest]).toEqual([base.ids, base.digest]);
      expect(done.counters.bytes).toEqual(base.counters.bytes);
    }
    const [one = 0, six = 0] = seen;
    expect(six - one).toBe(5);
  });
});
