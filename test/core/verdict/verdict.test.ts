// The verdict as a whole, from made-up plans and journals.

import { expect, test } from 'vitest';
import type { JournalEvent } from '../../../src/core/records/journal.ts';
import { makeRecord, type RecordOptions, row, twice, verdictOf } from './record.ts';

test('same ids, passes, acceptance and finish, twice the rate: same output and faster', () => {
  const verdict = verdictOf(makeRecord(twice));
  const fast = row(verdict, 'fast');
  expect(fast).toMatchObject({ output: 'L0', speed: 'faster', blocks: 4 });
  expect(fast.line).toMatchInlineSnapshot(`"same output, 2.01× faster (1.99–2.03)"`);
  expect(fast.outputReason).toMatchInlineSnapshot(
    `"ids equal in all 8 requests, passes, acceptance and finish reasons too"`,
  );
  expect(row(verdict, 'base').line).toMatchInlineSnapshot(`"baseline, 100.0 tok/s"`);
  expect(verdict).toMatchObject({
    complete: true,
    exitCode: 0,
    device: 'host',
    warnings: [expect.stringContaining('not GPU numbers')],
  });
});

test('the numbers of a row are sums over windows and ratios of sums', () => {
  const base = row(verdictOf(makeRecord(twice)), 'base');
  // 4 blocks of 2 requests: 64 tokens, 40 passes, 800 lookups each; 63 tokens at 100 tok/s.
  expect(base).toMatchObject({
    tokPerSec: 100,
    tokensPerPass: 1.6,
    msPerPass: 15.75,
    prefillTokPerSec: 400,
    ttftMs: 55,
    loadS: 1.5,
    rows: 800,
    passes: 320,
    lookups: { hit: 2400, pcie: 0, cpu: 3200, file: 800, skipped: 0, total: 6400 },
    hostBytesPerToken: Number((8e7 / 504).toPrecision(12)),
    deviceBytesPerToken: null,
  });
  // Memory: 9e6 bytes a request at 2 GB/s is the longest channel.
  expect(base.ceilingTokPerSec).toBeCloseTo((63 * 2e9) / 9e6, 3);
  expect(base.ceilingShare).toBeCloseTo(100 / ((63 * 2e9) / 9e6), 9);
  expect(base.command).toBe('rota-strata --model m.gguf --arm base');
});

test('the ratio of a row is the ratio of the rates it shows', () => {
  const verdict = verdictOf(makeRecord({ ...twice, blocks: 5 }));
  const fast = row(verdict, 'fast');
  expect((fast.tokPerSec ?? 0) / (row(verdict, 'base').tokPerSec ?? 1)).toBeCloseTo(fast.ratio?.[1] ?? 0, 9);
});

test('any id that differs is a changed output; faster then is a trade', () => {
  const verdict = verdictOf(
    makeRecord({
      arm: (name) => (name === 'fast' ? { lossyKnobs: ['route-bias'] } : {}),
      answer: (at) => ({
        ...twice.answer?.(at),
        ...(at.arm === 'fast' && at.prompt === 'prose-2-1'
          ? { ids: [0, 1, 2, 99, ...new Array<number>(60).fill(5)] }
          : {}),
      }),
    }),
  );
  expect(row(verdict, 'fast').output).toBe('L3');
  expect(row(verdict, 'fast').outputReason).toMatchInlineSnapshot(
    `"ids differ in 1 of 8 requests, first in b2.p2.fast prose-2-1 at token 4; declared lossy: route-bias"`,
  );
  expect(row(verdict, 'fast').line).toMatchInlineSnapshot(
    `"[lossy: route-bias] changed output and 2.01× faster (1.99–2.03): a trade, not a win; unscored"`,
  );
  expect(verdict.exitCode).toBe(0);
});

test('same ids by other passes are the same tokens by another path', () => {
  const answer = (counters: object): RecordOptions => ({
    answer: ({ arm }) => (arm === 'fast' ? { counters } : {}),
  });
  expect(row(verdictOf(makeRecord(answer({ passes: 41 }))), 'fast')).toMatchObject({ output: 'L1' });
  expect(row(verdictOf(makeRecord(answer({ accepted: 22 }))), 'fast').outputReason).toMatchInlineSnapshot(
    `"ids equal in all 8 requests, accepted drafts differ"`,
  );
  expect(row(verdictOf(makeRecord(answer({ passes: null }))), 'fast').outputReason).toMatchInlineSnapshot(
    `"ids equal in all 8 requests, passes not reported"`,
  );
  const finish: RecordOptions = { answer: ({ arm }) => ({ finish: arm === 'fast' ? 'stop' : 'length' }) };
  expect(row(verdictOf(makeRecord(finish)), 'fast').outputReason).toMatchInlineSnapshot(
    `"ids equal in all 8 requests, finish reasons differ"`,
  );
});

test('drafts from other weights are another path to the same tokens; from none, or untold, they say nothing', () => {
  const drafted = (draftFingerprint: NonNullable<RecordOptions['draftFingerprint']>): string[] => {
    const { output, outputReason } = row(verdictOf(makeRecord({ ...twice, draftFingerprint })), 'fast');
    return [output, outputReason];
  };
  expect(drafted((arm) => arm)).toEqual(['L1', 'ids equal in all 8 requests, drafted by other weights']);
  const alike = ['L0', 'ids equal in all 8 requests, passes, acceptance and finish reasons too'];
  expect(drafted(() => 'd')).toEqual(alike);
  expect(drafted((arm) => (arm === 'fast' ? null : 'd'))).toEqual(alike);
});

test('what cannot be compared is not verified, and says why', () => {
  const reason = (options: RecordOptions): string => {
    const { output, outputReason } = row(verdictOf(makeRecord({ ...twice, ...options })), 'fast');
    expect(output).toBe('LX');
    return outputReason;
  };
  expect(reason({ answer: () => ({ ids: null }) })).toMatchInlineSnapshot(
    `"the engine does not give token ids"`,
  );
  expect(reason({ fingerprint: (arm) => arm })).toMatchInlineSnapshot(`"other weights than the baseline"`);
  expect(
    reason({
      arm: (name) =>
        name === 'fast'
          ? { overrides: ['temperature 0.7'], sampling: { temperature: 0.7, topP: 1, seed: 1 } }
          : {},
    }),
  ).toMatchInlineSnapshot(`"not the same work: temperature 0.7"`);
});

test('a baseline that does not repeat itself accuses nobody', () => {
  const options: RecordOptions = {
    answer: ({ arm, block, kind }) => ({
      ids: kind === 'prime' && arm === 'base' ? [block] : [arm === 'fast' ? 1 : 2],
      tokens: 1,
    }),
  };
  const verdict = verdictOf(makeRecord(options));
  expect(row(verdict, 'fast')).toMatchObject({ output: 'LX' });
  expect(row(verdict, 'base')).toMatchObject({ output: 'LX' });
  expect(verdict.warnings).toContainEqual(expect.stringContaining('does not repeat itself'));
});

test('slower, equivalent, non-inferior and inconclusive have words of their own', () => {
  const line = (rate: (block: number) => number, change: Partial<RecordOptions> = {}): string => {
    const answer: RecordOptions['answer'] = ({ arm, block }) => ({
      rate: arm === 'fast' ? rate(block) : 100,
    });
    return row(verdictOf(makeRecord({ answer, ...change })), 'fast').line;
  };
  expect(line((b) => 60 + (b % 2))).toMatchInlineSnapshot(`"same output, slower: 0.605× (0.596–0.614)"`);
  expect(line((b) => 100 + (b % 2 ? 0.5 : -0.5))).toMatchInlineSnapshot(
    `"same output, equivalent speed: 1.000× (0.991–1.009) is within 3 %"`,
  );
  expect(line((b) => 101 + (b % 2 ? 1.5 : -1.5))).toMatchInlineSnapshot(
    `"same output, not slower by 3 % or more: 1.01× (0.98–1.04)"`,
  );
  expect(line((b) => 100 + (b % 2 ? 8 : -8))).toMatchInlineSnapshot(
    `"same output; speed inconclusive: 1.00× (0.86–1.15); 4 blocks can see 22 %, 3 % needs about 79 blocks"`,
  );
  expect(line((b) => 100 * (b % 2 ? 9 : 1 / 9), { blocks: 2 })).toMatchInlineSnapshot(
    `"same output; speed inconclusive: 1.00× (0.00–>1000); 2 blocks cannot tell a factor of two from noise here, reduce the noise first"`,
  );
  expect(line((b) => 100.8 + (b % 2 ? 0.1 : 0))).toMatchInlineSnapshot(
    `"same output, 1.0085× faster (1.0076–1.0094), less than the margin of 3 %"`,
  );
  expect(line(() => 100)).toMatchInlineSnapshot(
    `"same output, equivalent speed: 1.00× (1.00–1.00) is within 3 %"`,
  );
  expect(line(() => 200, { blocks: 1 })).toMatchInlineSnapshot(
    `"same output; speed inconclusive: one block has no spread"`,
  );
});

test('a changed output that is slower or no faster says so', () => {
  const line = (rate: number): string => {
    const answer: RecordOptions['answer'] = ({ arm, block }) =>
      arm === 'fast' ? { rate: rate + 0.3 * (block % 2), ids: new Array<number>(64).fill(1) } : {};
    return row(verdictOf(makeRecord({ answer })), 'fast').line;
  };
  expect(line(70)).toMatchInlineSnapshot(`"changed output and slower: 0.701× (0.699–0.704); unscored"`);
  expect(line(99.85)).toMatchInlineSnapshot(
    `"changed output at the same speed: 1.000× (0.997–1.003); unscored"`,
  );
});

test('all arms and classes are one family: the more comparisons, the wider the interval', () => {
  const width = (classes: string[]): number => {
    const [low, , high] = row(verdictOf(makeRecord({ ...twice, classes })), 'fast', 'a').ratio ?? [0, 0, 0];
    return high - low;
  };
  expect(width(['a', 'b', 'c'])).toBeGreaterThan(1.2 * width(['a']));
});

test('a request without tokens takes the rate of its run with it and is told', () => {
  const verdict = verdictOf(
    makeRecord({
      answer: (at) =>
        at.arm === 'fast' && at.prompt === 'prose-1-1'
          ? { tokens: 0, ids: [], counters: { passes: 0, accepted: 0 } }
          : { ...twice.answer?.(at) },
    }),
  );
  expect(row(verdict, 'fast')).toMatchObject({ tokPerSec: null, output: 'L3' });
  expect(row(verdict, 'fast').perBlock.map((each) => each.tokPerSec)).toEqual([null, 200, 202, 200]);
  expect(verdict.exitCode).toBe(3);
  expect(verdict.warnings[0]).toMatchInlineSnapshot(
    `"no rate for b1.p2.fast prose: no token came for prompt prose-1-1"`,
  );
});

test('decode times that nobody reports are unknown, not 0', () => {
  const verdict = verdictOf(makeRecord({ answer: () => ({ decodeMs: null }) }));
  expect(row(verdict, 'fast')).toMatchObject({
    tokPerSec: null,
    ratio: null,
    msPerPass: null,
    speed: 'inconclusive',
  });
  expect(row(verdict, 'fast').line).toMatchInlineSnapshot(
    `"same output; speed not measured: the engine does not report decode times"`,
  );
});

test('rows go class by class with the baseline first, whatever its place among the arms', () => {
  const verdict = verdictOf(makeRecord({ arms: ['fast', 'base'], classes: ['a', 'b'] }));
  expect(verdict.arms.map(({ class: name, arm }) => `${name} ${arm}`)).toEqual([
    'a base',
    'a fast',
    'b base',
    'b fast',
  ]);
});

test('ids are hashed over the requests in the order of the plan, whatever order they ran in', () => {
  const record = makeRecord({
    answer: ({ prompt }) => ({
      ids: [prompt.length, prompt.charCodeAt(prompt.length - 1)],
      tokens: 2,
      counters: { passes: 1, accepted: 0, offered: 0 },
    }),
  });
  const windows = record.events.filter((event) => event.type === 'window').reverse();
  const others = record.events.filter((event) => event.type !== 'window');
  const reordered = others.flatMap((event): JournalEvent[] =>
    event.type === 'ready' ? [event, ...windows.filter((window) => window.run === event.run)] : [event],
  );
  const hash = row(verdictOf(record), 'base').idsSha256;
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(row(verdictOf({ plan: record.plan, events: reordered }), 'base').idsSha256).toBe(hash);
});
