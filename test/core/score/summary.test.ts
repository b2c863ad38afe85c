import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GreedyText, WindowScore } from '../../../src/core/records/score.ts';
import { estimateOf, summarise, summariseTexts } from '../../../src/core/score/summary.ts';
import { cutWindows } from '../../../src/core/score/windows.ts';

function window(index: number, changes: Partial<WindowScore> = {}): WindowScore {
  const base = { class: 'prose', window: index, places: 10, sameTop1: 10, divergence: 0, prefillSha256: 'a' };
  return { ...base, negLogLikelihood: 20 + index, ...changes };
}

const own = [window(0), window(1), window(2)];
const none = { texts: [], prefillSha256: 'd' };

test('perplexity is of the mean over windows, its interval that of the mean: t(2) is 4.3027', () => {
  const found = summarise({ class: 'prose', own, first: null, ...none });
  expect(found?.perplexity.value).toBeCloseTo(Math.exp(2.1), 12);
  const half = (4.302652729911275 * 0.1) / Math.sqrt(3);
  expect(found?.perplexity.interval?.[0]).toBeCloseTo(Math.exp(2.1 - half), 9);
  expect(found?.perplexity.interval?.[1]).toBeCloseTo(Math.exp(2.1 + half), 9);
  expect(found).toMatchObject({
    windows: 3,
    places: 30,
    perplexityRatio: null,
    sameTop1Difference: null,
    greedy: null,
  });
});

test('itself against itself: nothing differs, exactly, and the intervals have no width', () => {
  const found = summarise({ class: 'prose', own, first: own, ...none });
  expect(found).toMatchObject({
    perplexityRatio: { value: 1, interval: [1, 1] },
    sameTop1: { value: 1, interval: [1, 1] },
    divergence: { value: 0, interval: [0, 0] },
    divergenceDifference: { value: 0, interval: [0, 0] },
  });
});

test('arms are compared window by window: what all windows have in common does not widen the interval', () => {
  const worse = own.map((each) => ({
    ...each,
    negLogLikelihood: each.negLogLikelihood + 1,
    sameTop1: 9,
    divergence: 2,
  }));
  const found = summarise({ class: 'prose', own: worse, first: own, ...none });
  expect(found?.perplexityRatio?.value).toBeCloseTo(Math.exp(0.1), 12);
  expect(found?.perplexityRatio?.interval?.[0]).toBeCloseTo(Math.exp(0.1), 9);
  expect(found?.sameTop1).toMatchObject({ value: 0.9, interval: [0.9, 0.9] });
  expect(found?.sameTop1Difference?.value).toBeCloseTo(-0.1, 12);
  expect(found?.divergence?.value).toBeCloseTo(0.2, 12);
});

test('other windows do not pair', () => {
  const other = [own[0], own[2], own[1]].filter((each) => each !== undefined);
  for (const first of [other, own.slice(1), own.map((each) => ({ ...each, places: 9 }))])
    expect(() => summarise({ class: 'prose', own, first, ...none })).toThrow('do not pair');
});

test('one window has a value and no interval; a divergence that one window lacks is not known', () => {
  const [only] = own;
  expect(
    summarise({ class: 'prose', own: only === undefined ? [] : [only], first: null, ...none }),
  ).toMatchObject({
    sameTop1: { value: 1, interval: null },
  });
  const partly = [...own.slice(0, 2), window(2, { divergence: null })];
  expect(summarise({ class: 'prose', own: partly, first: own, ...none })).toMatchObject({
    divergence: null,
    divergenceDifference: null,
  });
  expect(summarise({ class: 'prose', own: [], first: null, ...none })).toBeNull();
});

test('a share, a perplexity and a divergence keep to what they can be, whatever the t interval says', () => {
  const wide = [
    window(0, { sameTop1: 0, divergence: 0, negLogLikelihood: 0 }),
    window(1, { sameTop1: 10, divergence: 30 }),
  ];
  expect(summarise({ class: 'prose', own: wide, first: null, ...none })).toMatchObject({
    sameTop1: { value: 0.5, interval: [0, 1] },
    perplexity: { interval: [1, expect.any(Number)] },
    divergence: { interval: [0, expect.any(Number)] },
  });
});

test('an estimate lies in its interval', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 2, maxLength: 20 }),
      (values) => {
        const { value, interval } = estimateOf(values) ?? { value: Number.NaN, interval: null };
        expect(value).toBeGreaterThanOrEqual(interval?.[0] ?? Number.NaN);
        expect(value).toBeLessThanOrEqual(interval?.[1] ?? Number.NaN);
      },
    ),
  );
});

const text = (tokens: number, repeatedShare: number | null, more: Partial<GreedyText> = {}): GreedyText => ({
  ...{ class: 'prose', window: 0, tokens, finish: 'length', repeatedShare, loop: null, decodeMs: 100 },
  ...more,
});

test('texts count by their sequences, the earliest loop stands for all, and a rate is over all steps', () => {
  const found = summariseTexts([
    text(17, 0.5, { loop: { at: 9, period: 2 } }),
    text(37, 0, { loop: { at: 4, period: 1 } }),
    text(3, null),
  ]);
  expect(found).toEqual({
    texts: 3,
    tokens: 57,
    repeatedShare: 5 / 40,
    looping: 2,
    firstLoop: { at: 4, period: 1 },
    tokPerSecIndication: (54 * 1000) / 300,
  });
  expect(summariseTexts([text(3, null, { decodeMs: null })])).toMatchObject({
    repeatedShare: null,
    tokPerSecIndication: null,
  });
});

test('windows lie side by side, each with the model’s first token, spread over the text; the rest is not used', () => {
  const ids = Array.from({ length: 11 }, (_, i) => i);
  const whole = [
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ];
  expect(cutWindows(ids, { tokens: 4, most: 9, bosId: null })).toEqual(whole);
  expect(cutWindows(ids, { tokens: 4, most: 9, bosId: 99 })).toEqual([
    [99, 0, 1, 2],
    [99, 3, 4, 5],
    [99, 6, 7, 8],
  ]);
  expect(cutWindows(ids, { tokens: 3, most: 2, bosId: 99 })).toEqual([
    [99, 0, 1],
    [99, 4, 5],
  ]);
  expect(cutWindows(ids, { tokens: 12, most: 1, bosId: null })).toEqual([]);
});

test('no token is read twice, and all windows are there when all are wanted', () => {
  const shape = fc.record({
    length: fc.nat(200),
    tokens: fc.integer({ min: 1, max: 20 }),
    most: fc.integer({ min: 1, max: 30 }),
  });
  fc.assert(
    fc.property(shape, ({ length, tokens, most }) => {
      const ids = Array.from({ length }, (_, i) => i);
      const windows = cutWindows(ids, { tokens, most, bosId: null });
      expect(windows).toHaveLength(Math.min(most, Math.floor(length / tokens)));
      const read = windows.flat();
      expect(read).toEqual([...new Set(read)].sort((a, b) => a - b));
      expect(windows.every((window) => window.length === tokens)).toBe(true);
    }),
  );
});
