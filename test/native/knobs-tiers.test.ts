// Knobs of the tiers' sizes and of what moves between them: each moves its own counter, and none the output.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bin, isSanitized, type Json, type Ready, runStrata, Strata } from './helpers/strata.ts';
import {
  BODIES,
  blobBytes,
  DRAFTED,
  expectExact,
  lookups,
  output,
  type Played,
  play,
  QUARTERS,
  steady,
  sum,
} from './helpers/tiers.ts';
import { withModel } from './helpers/workspace.ts';

const KIB = 1024;
const { folder, model } = withModel('mini-xs');
let base: Played;
let drafted: Played;

const run = (...knobs: string[]): Promise<Played> => play(model, QUARTERS, ...knobs);
const draft = (...knobs: string[]): Promise<Played> => play(model, DRAFTED, ...knobs);

beforeAll(async () => {
  base = await run();
  drafted = await draft();
});

/** Starts with slots of what is free of `free` bytes, and ends. */
async function auto(free: number, ...knobs: string[]): Promise<{ ready: Ready; stderr: string }> {
  const { engine, ready } = await Strata.start([
    ...['--model', model, '--ctx', '256', '--depth', '0', '--slots', 'auto', '--arena', '8x'],
    ...['--assume-memory', `${free}B`, '--margin', '0', ...knobs],
  ]);
  await using _ = engine;
  return { ready, stderr: engine.stderr };
}

function chosen({ ready }: { ready: Ready }): Record<string, number> {
  return ready.chosen['slots'] as Record<string, number>;
}

/** So much is free that half of the experts get slots. */
async function freeForHalf(): Promise<number> {
  const { available = 0, margin = 0, ...parts } = chosen(await auto(1e9));
  expect(margin).toBe(0);
  const others = ['program', 'dense', 'draft', 'kv', 'scratch'].map((name) => parts[name] ?? Number.NaN);
  expect(available).toBe(1e9);
  return (
    others.reduce((total, bytes) => total + bytes, 0) + (parts['arena'] ?? 0) + (parts['experts'] ?? 0) / 2
  );
}

describe('knob: margin', () => {
  test('auto gives the slots what is free less everything else, KV and margin taken from it', async () => {
    const free = Math.floor(await freeForHalf());
    const plain = await auto(free);
    const budget = chosen(plain);
    const { available = 0, slots = 0, kv = 0, ...parts } = budget;
    expect(available).toBe(free);
    expect(kv).toBe(plain.ready.sizes['kv_bytes']);
    expect(slots).toBe(
      ['program', 'dense', 'draft', 'scratch', 'margin', 'arena'].reduce(
        (rest, name) => rest - (parts[name] ?? Number.NaN),
        free - kv,
      ),
    );
    expect(plain.ready.sizes['slots_bytes']).toBeLessThanOrEqual(slots);
    expect(plain.ready.sizes['slots_bytes']).toBeGreaterThan(slots - blobBytes(plain.ready));
    expect(plain.stderr).toMatch(
      /^slots auto: [\d.]+ MiB free by --assume-memory - program 64\.0 MiB - dense .* - KV .* - arena .* = .* of expert slots$/m,
    );
    const margin = await auto(free, '--margin', '100KiB');
    expect(chosen(margin)['slots']).toBe(slots - 100 * KIB);
    expect(Number(margin.ready.sizes['slots'])).toBeLessThan(Number(plain.ready.sizes['slots']));
    const longer = await auto(free, '--ctx', '384');
    const more = (name: string): number => (chosen(longer)[name] ?? 0) - (budget[name] ?? 0);
    expect(more('kv')).toBeGreaterThan(0);
    expect(more('slots')).toBe(-more('kv') - more('scratch'));
    expect(Number(longer.ready.sizes['slots'])).toBeLessThan(Number(plain.ready.sizes['slots']));
    const packed = chosen(await auto(free, '--kv', 'packed'));
    expect((packed['slots'] ?? 0) + (packed['kv'] ?? 0)).toBe(slots + kv);
    expect(packed['kv']).toBeLessThan(kv / 2);
  });
});

describe('knob: assume-memory', () => {
  const refuse = (env: Record<string, string>, ...knobs: string[]) =>
    runStrata(['--model', model, '--ctx', '256', '--depth', '0', ...knobs], '', env);

  test('stands for the free memory: less of it is refused with all that was asked, more changes nothing', async () => {
    const { code, stderr } = refuse({}, '--assume-memory', '65MiB');
    expect(code).toBe(4);
    expect(stderr).toMatch(
      /^rota-strata: out of memory: asked [\d.]+ MiB \(slots .*arena .*\), available 65\.0 MiB by --assume-memory; lower --\w+/,
    );
    expectExact(await run('--assume-memory', '500GiB'), base);
  });

  test("a control group's limit holds all the same, and the refusal names its file", () => {
    const root = path.join(folder.path, 'machine');
    const group = path.join(root, 'sys/fs/cgroup/job');
    mkdirSync(path.join(root, 'proc/self'), { recursive: true });
    mkdirSync(group, { recursive: true });
    writeFileSync(path.join(root, 'proc/meminfo'), 'MemAvailable: 16777216 kB\n');
    writeFileSync(path.join(root, 'proc/self/cgroup'), '0::/job\n');
    writeFileSync(path.join(group, 'memory.high'), `${1 << 30}\n`);
    writeFileSync(path.join(group, 'memory.current'), `${(1 << 30) - (65 << 20)}\n`);
    const env = { ROTA_MEMORY_ROOT: root };
    for (const knobs of [[], ['--assume-memory', '500GiB']]) {
      const { code, stderr } = refuse(env, ...knobs);
      expect(code).toBe(4);
      expect(stderr).toContain(
        `available 65.0 MiB by the memory limit of its control group (${group}/memory.high)`,
      );
    }
    writeFileSync(path.join(group, 'memory.stat'), `active_file ${512 << 20}\n`);
    expect(refuse(env).code).toBe(0);
  });
});

test.skipIf(isSanitized)('what the address space still holds is a limit too', () => {
  const words = ['-c', 'ulimit -v 300000; exec "$0" "$@"', path.join(bin, 'rota-strata')];
  const { status, stderr } = spawnSync('bash', [...words, '--model', model, '--ctx', '400000'], {
    encoding: 'utf8',
    input: '',
  });
  expect(stderr).toMatch(
    /^rota-strata: out of memory: asked .*, available [\d.]+ MiB by the limit of its address space \(\/proc\/self\/limits\); lower --ctx/,
  );
  expect(status).toBe(4);
});

test('all exact knobs at once give the same ids and logits', async () => {
  const sizes = ['--slots', '20x', '--arena', '12x', '--pin-share', '0.3', '--lru-window', '2'];
  const shares = ['--pcie', 'auto', '--batch-pcie', '0.4', '--prefetch', '0.7', '--conf', '0.2'];
  const all = await play(model, [...QUARTERS.slice(0, 2), ...sizes, ...shares]);
  const outcome = ({ done }: Played): unknown => done.map(({ ids, digest }) => ({ ids, digest }));
  expect(outcome(all)).toEqual(outcome(base));
  expect(all.ready.lossy).toEqual([]);
});

describe('knob: arena', () => {
  test('takes a count of experts; what is left is read from the file', async () => {
    const ten = await run('--arena', '10x'),
      none = await run('--arena', '0'),
      all = await run('--arena', '100%');
    for (const played of [ten, none, all]) expectExact(played, base);
    expect(ten.ready.sizes).toMatchObject({ arena_experts: 10, arena_bytes: 10 * blobBytes(ten.ready) });
    expect(lookups(none, 'cpu')).toBe(0);
    expect(lookups(all, 'file')).toBe(0);
    expect(lookups(ten, 'file')).toBeGreaterThan(lookups(base, 'file'));
  });
});

describe('knob: pin-share', () => {
  test('pinned slots take no newcomer', async () => {
    const half = await run('--pin-share', '0.5'),
      all = await run('--pin-share', '1'),
      still = await run('--lru-window', '0');
    for (const played of [half, all, still]) expectExact(played, base);
    const slots = Number(base.ready.sizes['slots']);
    expect([base, half, all].map(({ ready }) => ready.sizes['pinned_slots'])).toEqual([0, slots / 2, slots]);
    expect(sum(base, ({ admitted }) => admitted)).toBeGreaterThan(sum(half, ({ admitted }) => admitted));
    expect(sum(half, ({ admitted }) => admitted)).toBeGreaterThan(0);
    expect(steady(all)).toEqual(steady(still));
  });
});

describe('knob: lru-window', () => {
  test('a wider window admits more, 0 nothing, and the family name means the same', async () => {
    const still = await run('--lru-window', '0'),
      wide = await run('--lru-window', '64');
    for (const played of [still, wide]) expectExact(played, base);
    expect(sum(still, ({ admitted }) => admitted)).toBe(0);
    expect(sum(wide, ({ admitted }) => admitted)).toBeGreaterThan(sum(base, ({ admitted }) => admitted));
    const { engine, ready } = await Strata.start(['--model', model, ...QUARTERS], { STRATA_LRU_WIN: '0' });
    await using _ = engine;
    expect(ready.knobs['lru-window']).toBe(0);
    expect((await engine.generate(BODIES[0] as Json)).counters.admitted).toBe(0);
  });
});

/** A share that was chosen is the balance of the costs that were measured. */
function expectBalance({ ready }: Played, knob: string): void {
  const { copy_us = 0, cpu_us = 0, share = -1 } = ready.chosen[knob] as Record<string, number>;
  expect(Math.min(copy_us, cpu_us)).toBeGreaterThan(0);
  expect(share).toBeCloseTo(cpu_us / (copy_us + cpu_us), 9);
  expect(ready.knobs[knob]).toBe(share);
}

describe('knob: pcie', () => {
  test('copies its share of the arena misses of one-row passes, to the lookup', async () => {
    const third = await run('--pcie', '0.3');
    expectExact(third, base);
    expect(lookups(third, 'pcie')).toBe(Math.floor(0.3 * lookups(base, 'cpu') + 1e-6));
    expect(lookups(third, 'pcie') + lookups(third, 'cpu')).toBe(lookups(base, 'cpu'));
    expect(sum(third, ({ bytes }) => bytes.pcie)).toBe(lookups(third, 'pcie') * blobBytes(third.ready));
  });

  test('auto balances what a copy and the CPU cost here, and says both', async () => {
    const balanced = await run('--pcie', 'auto');
    expectExact(balanced, base);
    expectBalance(balanced, 'pcie');
    expect(balanced.ready.chosen).not.toHaveProperty('batch-pcie');
    expect(lookups(balanced, 'pcie')).toBeGreaterThan(0);
    expect(lookups(balanced, 'pcie') + lookups(balanced, 'cpu')).toBe(lookups(base, 'cpu'));
  });
});

describe('knob: batch-pcie', () => {
  test('copies its share of the misses of verify passes, and of those alone', async () => {
    const file = path.join(folder.path, 'ledger.jsonl');
    const all = await draft('--batch-pcie', '1', '--ledger', file);
    expectExact(all, drafted);
    const passes = readFileSync(file, 'utf8').trimEnd().split('\n');
    for (const { kind, pcie, cpu } of passes.map((line) => JSON.parse(line) as Record<string, unknown>)) {
      expect(kind === 'verify' ? cpu : pcie).toBe(0);
    }
    expect(lookups(all, 'pcie')).toBeGreaterThan(0);
    expect(lookups(await draft('--pcie', '1'), 'pcie')).toBeLessThan(lookups(all, 'pcie') / 4);
    expect(output(all)).toEqual(output(drafted));
  });

  test('auto balances it too', async () => {
    const balanced = await draft('--batch-pcie', 'auto');
    expectExact(balanced, drafted);
    expectBalance(balanced, 'batch-pcie');
    expect(lookups(balanced, 'pcie')).toBeGreaterThan(0);
    expect(lookups(balanced, 'pcie') + lookups(balanced, 'cpu')).toBe(lookups(drafted, 'cpu'));
  });
});

describe('knob: prefetch', () => {
  test('reads so many experts a layer ahead, fractions on average', async () => {
    const none = await run('--prefetch', '0'),
      third = await run('--prefetch', '0.3');
    for (const played of [none, third]) expectExact(played, base);
    const issued = (played: Played): number => sum(played, ({ prefetch }) => prefetch.issued);
    const guesses = sum(base, ({ passes }) => passes) * (base.ready.model.layers - 1);
    expect(issued(none)).toBe(0);
    expect(issued(third)).toBeLessThanOrEqual(0.3 * guesses + 1e-6);
    expect(issued(third)).toBeGreaterThan(0.15 * guesses);
    expect(issued(base)).toBeGreaterThan(issued(third) * 2);
    expect(sum(third, ({ prefetch }) => prefetch.useful)).toBeGreaterThan(0);
    for (const source of ['hit', 'cpu', 'file'] as const)
      expect(lookups(third, source)).toBe(lookups(base, source));
  });
});
