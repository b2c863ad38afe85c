// Knobs that bend the routing to where experts lie: each is called lossy in ready, in done and in the log, moves its own counter,
// and leaves prompt rows alone unless it is the one that does not.

import { beforeAll, describe, expect, test } from 'vitest';
import { type Json, Strata } from './helpers/strata.ts';
import {
  BODIES,
  expectBalanced,
  lookups,
  output,
  type Played,
  play,
  QUARTERS,
  steady,
  sum,
} from './helpers/tiers.ts';
import { withModel } from './helpers/workspace.ts';

const { model } = withModel('mini-xs');
let base: Played;

const run = (...knobs: string[]): Promise<Played> => play(model, QUARTERS, ...knobs);

beforeAll(async () => {
  base = await run();
});

/** The knobs are named wherever somebody may look, and the output is another one. */
function expectLossy(played: Played, ...names: string[]): void {
  expectBalanced(played);
  expect(played.ready.lossy).toEqual(names);
  for (const { lossy } of played.done) expect(lossy).toEqual(names);
  expect(output(played)).not.toEqual(output(base));
}

/** The prompt's rows: routed as ever, and so the first token is what it was. */
function expectExactPrompts(played: Played): void {
  expect(played.done[0]?.ids[0]).toBe(base.done[0]?.ids[0]);
  expect(played.done[0]?.counters.prefill).toEqual(base.done[0]?.counters.prefill);
}

function share(played: Played, source: 'hit' | 'file'): number {
  return lookups(played, source) / sum(played, (counters) => counters.lookups);
}

describe('knob: route-bias', () => {
  test('turns the choice to experts in slots, and says so in the log', async () => {
    const biased = await run('--route-bias', '0.5');
    expectLossy(biased, 'route-bias');
    expectExactPrompts(biased);
    expect(share(biased, 'hit')).toBeGreaterThan(share(base, 'hit'));
    const { engine } = await Strata.start(['--model', model, ...QUARTERS, '--route-bias', '0.5']);
    await using _ = engine;
    await engine.generate(BODIES[0] as Json);
    const line = "serve: LOSSY knobs in use: route-bias; the output is not the model's own";
    expect(engine.stderr.split('\n').filter((each) => each === line)).toHaveLength(2);
  });
});

describe('knob: route-bias-file', () => {
  test('turns the choice away from experts that need a file read', async () => {
    const biased = await run('--route-bias-file', '0.5');
    expectLossy(biased, 'route-bias-file');
    expectExactPrompts(biased);
    expect(share(biased, 'file')).toBeLessThan(share(base, 'file'));
  });
});

describe('knob: prompt-bias', () => {
  test('lets the bias act on prompt rows by its factor', async () => {
    const bias = ['--route-bias', '0.5'],
      hits = (played: Played): number | undefined => played.done[0]?.counters.prefill.hit;
    const exact = await run(...bias, '--prompt-bias', 'off'),
      weak = await run(...bias, '--prompt-bias', '0.1'),
      full = await run(...bias, '--prompt-bias', 'on');
    expectLossy(exact, 'route-bias');
    expectExactPrompts(exact);
    for (const played of [weak, full]) expectLossy(played, 'route-bias', 'prompt-bias');
    expect(hits(weak)).toBeGreaterThan(hits(base) ?? Number.NaN);
    expect(hits(full)).toBeGreaterThan(hits(weak) ?? Number.NaN);
  });

  test('is read from STRATA_SERVE_PASS_BIAS', async () => {
    const { engine, ready } = await Strata.start(['--model', model, ...QUARTERS, '--route-bias', '1'], {
      STRATA_SERVE_PASS_BIAS: '1',
    });
    await using _ = engine;
    expect(ready.knobs['prompt-bias']).toBe(1);
    expect(ready.lossy).toEqual(['route-bias', 'prompt-bias']);
  });
});

describe('knob: skip-miss', () => {
  test('drops light lookups outside the slots, counts them, and leaves the prompt alone', async () => {
    const some = await run('--skip-miss', '0.3'),
      all = await run('--skip-miss', '1');
    for (const played of [some, all]) {
      expectLossy(played, 'skip-miss');
      expectExactPrompts(played);
    }
    const skipped = (played: Played): number => sum(played, (counters) => counters.skipped);
    expect(skipped(base)).toBe(0);
    expect(skipped(some)).toBeGreaterThan(0);
    expect(skipped(all)).toBeGreaterThan(skipped(some));
    expect(lookups(all, 'cpu') + lookups(all, 'file')).toBe(0);
    expect(lookups(some, 'cpu')).toBeGreaterThan(0);
  });

  test('repeats after a reset, and its line in the log counts what was dropped', async () => {
    const { engine, ready } = await Strata.start(['--model', model, ...QUARTERS, '--skip-miss', '0.3']);
    await using _ = engine;
    const body = BODIES[0] as Json;
    const first = await engine.generate(body);
    expect(engine.stderr).toContain(` file, ${first.counters.skipped} skipped\n`);
    await engine.generate(BODIES[1] as Json);
    await engine.reset();
    const again = await engine.generate(body);
    expect(again.ids).toEqual(first.ids);
    expect(steady({ ready, done: [again] })).toEqual(steady({ ready, done: [first] }));
  });
});

describe('knob: skip-file', () => {
  test('drops lookups that need a file read and no others', async () => {
    const played = await run('--skip-file', '1');
    expectLossy(played, 'skip-file');
    expectExactPrompts(played);
    expect(lookups(played, 'file')).toBe(0);
    expect(sum(played, ({ bytes }) => bytes.file)).toBe(0);
    expect(lookups(played, 'cpu')).toBeGreaterThan(0);
    // The larger share holds, so a small one beside skip-miss 1 saves nothing.
    const both = await run('--skip-miss', '1', '--skip-file', '0.01');
    expect(lookups(both, 'file')).toBe(0);
    expect(both.ready.lossy).toEqual(['skip-miss', 'skip-file']);
  });
});

describe('knob: renorm-skip', () => {
  test('scales what is left, and is lossy by itself', async () => {
    const skip = ['--skip-miss', '0.45'];
    const plain = await run(...skip),
      scaled = await run(...skip, '--renorm-skip', 'on');
    expectLossy(scaled, 'skip-miss', 'renorm-skip');
    expectExactPrompts(scaled);
    expect(output(scaled)).not.toEqual(output(plain));
    expect(sum(scaled, (counters) => counters.skipped)).toBeGreaterThan(0);
  });
});
