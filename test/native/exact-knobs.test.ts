// Knobs that only say where and by whom the work is done never change the output; those that bend the routing do.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Done, generateOnce, type Json, promptOf, SOURCES, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const bodies: Json[] = [
  { prompt: promptOf(40, 128), max_new: 40 },
  { prompt: promptOf(23, 128, 5), max_new: 30 },
];
const QUARTERS = ['--slots', '25%', '--arena', '25%', '--depth', '0'];
let base: Done[];

function run(...knobs: string[]): Promise<{ done: Done[] }> {
  return generateOnce(['--model', model, '--ctx', '256', ...knobs], ...bodies);
}

/** What the output is, whatever it cost. */
function output(done: readonly Done[]): unknown {
  return done.map(({ ids, finish, digest }) => ({ ids, finish, digest }));
}

beforeAll(async () => {
  base = (await run(...QUARTERS)).done;
});

const PLACEMENTS: readonly (readonly string[])[] = [
  ['--slots', '0', '--arena', '100%'],
  ['--slots', '100%', '--arena', '0'],
  ['--slots', '0', '--arena', '0'],
  ['--slots', '0', '--arena', '0', '--prefetch', '0', '--file-readers', '1'],
  ['--slots', '50%', '--arena', '25%', '--lru-window', '0'],
  ['--slots', '25%', '--arena', '75%', '--pcie', '1'],
];

test.each(PLACEMENTS)(
  'placement %s %s %s %s ... gives the same output and as many lookups',
  async (...knobs) => {
    const { done } = await run('--depth', '0', ...knobs);
    expect(output(done)).toEqual(output(base));
    expect(done.map(({ counters }) => counters.lookups)).toEqual(
      base.map(({ counters }) => counters.lookups),
    );
  },
);

test.each([
  ['--threads', '1'],
  ['--threads', '3'],
  ['--prompt-batch', '1'],
  ['--prompt-batch', '7'],
  ['--affinity', 'none'],
  ['--prefetch', '5'],
])('%s %s gives the same output and the same decode counters', async (...knobs) => {
  const { done } = await run(...QUARTERS, ...knobs);
  expect(output(done)).toEqual(output(base));
  for (const [index, { counters }] of done.entries()) {
    const expected = base[index]?.counters;
    for (const source of SOURCES) expect(counters[source], source).toBe(expected?.[source]);
    expect(counters.bytes.hit).toBe(expected?.bytes.hit);
    expect(counters.admitted).toBe(expected?.admitted);
  }
});

test.each([['1'], ['3'], ['5']])('speculation of depth %s gives the same tokens', async (depth) => {
  const { done } = await run(
    '--slots',
    '25%',
    '--arena',
    '25%',
    '--depth',
    depth,
    '--conf',
    '0',
    '--batch-pcie',
    '0.5',
  );
  expect(output(done)).toEqual(output(base));
  expect(done[0]?.counters.offered).toBeGreaterThan(0);
});

test('the same start and the same requests give the same counters, file reads and prefetches included', async () => {
  const [again] = (await run(...QUARTERS)).done;
  const stable = ({ counters }: Done): unknown => ({
    ...counters,
    late: 0,
    prefetch: { ...counters.prefetch, late: 0 },
  });
  expect(stable(again as Done)).toEqual(stable(base[0] as Done));
});

test('a rank file decides what is held', async () => {
  const rank = path.join(folder.path, 'rank.txt');
  writeFileSync(rank, Array.from({ length: 64 }, (_, i) => `${i % 8} ${7 - Math.floor(i / 8)}`).join('\n'));
  const { done } = await run(...QUARTERS, '--rank', rank);
  expect(output(done)).toEqual(output(base));
  expect(done[0]?.counters.hit).not.toBe(base[0]?.counters.hit);
});

test('route-bias and route-bias-file change the output, and the engine says that they are lossy', async () => {
  const { engine, ready } = await Strata.start([
    '--model',
    model,
    ...QUARTERS,
    '--route-bias',
    '0.5',
    '--route-bias-file',
    '0.3',
  ]);
  await using _ = engine;
  expect(ready.lossy).toEqual(['route-bias', 'route-bias-file']);
  const done = await engine.generate(bodies[0] as Json);
  expect(done.ids).not.toEqual(base[0]?.ids);
  expect(done.counters.file).toBeLessThan(base[0]?.counters.file ?? 0);
  expect(engine.stderr).toContain('LOSSY knobs in use: route-bias, route-bias-file');
});

test('prompt passes are routed exactly under a bias: the first token stays', async () => {
  const { done } = await run(...QUARTERS, '--route-bias', '5');
  expect(done[0]?.ids[0]).toBe(base[0]?.ids[0]);
});

test('sampling repeats with its seed and differs with another', async () => {
  const sampled = (seed: number): Json => ({ ...bodies[0], temperature: 0.9, top_p: 0.95, seed });
  const { done } = await generateOnce(['--model', model, '--conf', '0'], sampled(1), sampled(1), sampled(2));
  expect(done[1]?.ids).toEqual(done[0]?.ids);
  expect(done[2]?.ids).not.toEqual(done[0]?.ids);
});

test('reset puts the counters back to those of a fresh start', async () => {
  const { engine } = await Strata.start(['--model', model, '--ctx', '256', ...QUARTERS, '--pcie', '0.3']);
  await using _ = engine;
  const stable = ({ counters }: Done): unknown => ({
    ...counters,
    late: 0,
    prefetch: { ...counters.prefetch, late: 0 },
  });
  const first = await engine.generate(bodies[0] as Json);
  const second = await engine.generate(bodies[1] as Json);
  expect(first.counters.admitted + second.counters.admitted).toBeGreaterThan(0);
  await engine.reset();
  expect(stable(await engine.generate(bodies[0] as Json))).toEqual(stable(first));
  expect(stable(await engine.generate(bodies[1] as Json))).toEqual(stable(second));
});
