import { expect, test } from 'vitest';
import type { GapEvent, JournalEvent } from '../../../src/core/records/journal.ts';
import { nearTieNats } from '../../../src/core/verdict/divergence.ts';
import { wilsonUpper } from '../../../src/core/verdict/scores.ts';
import { makeRecord, type RecordOptions, row, twice, verdictOf } from './record.ts';
import type { Scored } from './record-scores.ts';

/** 200 places of one text; the arm's opinion is off by `delta` nats, and by its likeliest token in `flips` places. */
const scored = (delta: number, flips = 0, logits = 'p'): Scored => ({
  logprobs: Array.from({ length: 200 }, (_, i) => -1 - (i % 5) / 10 + delta),
  top1: Array.from({ length: 200 }, (_, i) => (i < flips ? 999 : i)),
  logits,
});

/** Every run answers the prompt `ask` and scores four texts; the arm `fast` scores as `own` says. */
const asked = (own: Scored, more: RecordOptions = {}): RecordOptions => ({
  ...twice,
  arbitrate: 'ask',
  texts: 4,
  score: ({ arm }) => (arm === 'fast' ? own : scored(0)),
  ...more,
});

/** `fast` says other things from the third token of the arbitration prompt on. */
const parting: RecordOptions['answer'] = (at) => ({
  ...twice.answer?.(at),
  ...(at.arm === 'fast' && at.kind === 'arbitrate'
    ? { ids: [0, 1, 77, ...Array.from({ length: 61 }, (_, i) => i + 3)] }
    : {}),
});

const gap = (arm: string, nats: number, index = 2): GapEvent => ({
  type: 'gap',
  utc: '2026-01-01T00:00:00.000Z',
  run: 'b4.p1.base',
  arm,
  class: 'prose',
  prompt: 'ask',
  index,
  baseLogprob: -0.5,
  armLogprob: -0.5 - nats,
});

function judged(options: RecordOptions, gaps: readonly JournalEvent[] = []) {
  const { plan, events } = makeRecord(options);
  return row(verdictOf({ plan, events: [...events, ...gaps] }), 'fast');
}

test('everything equal, digests of decode and prefill too: L0, and it says what was compared', () => {
  const same = judged(asked(scored(0), { answer: (at) => ({ ...twice.answer?.(at), logits: 'd' }) }));
  expect(same.output).toBe('L0');
  expect(same.outputReason).toMatchInlineSnapshot(
    `"ids equal in all 12 requests, passes, acceptance, logits, prefill and finish reasons too"`,
  );
  expect(same.evidence).toMatchObject({ compared: 12, differing: 0, deltaTokens: 0, firstDivergence: null });
  expect(same.evidence?.score).toEqual({
    texts: 4,
    tokens: 3200,
    perplexityRatio: 1,
    interval: [1, 1],
    sameTop1: 1,
  });
});

test('same ids by other logits are no L0, in decode or in prefill', () => {
  const decode = asked(scored(0), {
    answer: (at) => ({ ...twice.answer?.(at), logits: at.arm === 'fast' ? 'e' : 'd' }),
  });
  expect(judged(decode)).toMatchObject({
    output: 'L1',
    outputReason: expect.stringContaining('other logits'),
  });
  expect(judged(asked(scored(0, 0, 'q'))).outputReason).toMatchInlineSnapshot(
    `"ids equal in all 12 requests, but other logits in the prefill"`,
  );
  // A baseline whose own prefill is never twice the same accuses nobody by it.
  let start = 0;
  const noisy = asked(scored(0), { score: () => scored(0, 0, `${start++}`) });
  expect(judged(noisy)).toMatchObject({ output: 'L0' });
});

test('ids that part at a near tie, with scores alike, are rounding: L2', () => {
  const options = asked(scored(1e-5, 0, 'q'), { answer: parting });
  const found = judged(options, [gap('fast', 0.01)]);
  expect(found.output).toBe('L2');
  expect(found.outputReason).toMatchInlineSnapshot(
    `"ids differ in 4 of 12 requests, first in b1.p2.fast ask at token 3 (gap 0.010 nat); only near ties, and fixed texts score alike"`,
  );
  expect(found.evidence?.firstDivergence).toEqual({
    run: 'b1.p2.fast',
    prompt: 'ask',
    token: 3,
    gapNats: 0.01,
  });
  expect(found.line).toMatchInlineSnapshot(`"output differs by rounding only, 2.01× faster (1.99–2.03)"`);
});

test.each([
  ['a wide gap', asked(scored(1e-5, 0, 'q'), { answer: parting }), [gap('fast', 1.3)], '; the gap is wide'],
  ['no gap', asked(scored(1e-5, 0, 'q'), { answer: parting }), [], 'at token 3'],
  [
    'a gap that is known of some answers only',
    asked(scored(1e-5, 0, 'q'), {
      answer: (at) => ({
        ...parting?.(at),
        ...(at.arm === 'fast' && at.kind === 'arbitrate' && at.block === 3
          ? { ids: [0, 77, ...Array.from({ length: 62 }, (_, i) => i + 2)] }
          : {}),
      }),
    }),
    [gap('fast', 0.01)],
    '(gap 0.010 nat)',
  ],
  [
    'unscored',
    { ...asked(scored(0)), score: () => null, answer: parting },
    [gap('fast', 0.01)],
    '(gap 0.010 nat)',
  ],
  [
    'too few texts to tell',
    { ...asked(scored(1e-5, 0, 'q'), { answer: parting }), texts: 1 },
    [gap('fast', 0.01)],
    '(gap 0.010 nat)',
  ],
  [
    'other perplexity',
    asked(scored(-0.02, 0, 'q'), { answer: parting }),
    [gap('fast', 0.01)],
    '; fixed texts score otherwise',
  ],
  [
    'other likeliest tokens',
    asked(scored(0, 9, 'q'), { answer: parting }),
    [gap('fast', 0.01)],
    '; fixed texts score otherwise',
  ],
  [
    'fewer tokens',
    asked(scored(1e-5, 0, 'q'), {
      answer: (at) => ({
        ...parting?.(at),
        ...(at.arm === 'fast' && at.kind === 'arbitrate' ? { tokens: 40, ids: new Array(40).fill(3) } : {}),
      }),
    }),
    [gap('fast', 0.01, 0)],
    '; tokens 160 instead of 256',
  ],
] as [string, RecordOptions, GapEvent[], string][])(
  '%s is no rounding: L3, and a trade with its cost',
  (_, options, gaps, why) => {
    const found = judged(options, gaps);
    expect(found.output).toBe('L3');
    expect(found.outputReason.slice(-why.length)).toBe(why);
    expect(found.line).toContain('a trade, not a win; ');
    expect(found.line).toMatch(/it costs |unscored|no cost was found/);
  },
);

test('what a changed output costs stands behind what it brings', () => {
  const options = asked(scored(-0.02, 9, 'q'), {
    answer: (at) => ({
      ...parting?.(at),
      ...(at.arm === 'fast' ? { counters: { passes: 46, accepted: 17 } } : {}),
      ...(at.arm === 'fast' && at.kind === 'arbitrate' ? { tokens: 40, ids: new Array(40).fill(3) } : {}),
    }),
  });
  expect(judged(options).line).toMatchInlineSnapshot(
    `"changed output and 2.01× faster (1.99–2.03): a trade, not a win; it costs tokens/pass −13.0 %, −96 of 256 tokens to the end token, perplexity +2.02 %, same top-1 95.5 %"`,
  );
});

test('a change that fixed texts cannot see is not said to cost nothing', () => {
  const blind = asked(scored(0), { answer: parting });
  expect(judged(blind, [gap('fast', 1.3)]).line).toMatchInlineSnapshot(
    `"changed output and 2.01× faster (1.99–2.03): a trade, not a win; fixed texts, scored as prompts, do not show it"`,
  );
  const slower = asked(scored(0), {
    answer: (at) => ({ ...parting?.(at), ...(at.arm === 'fast' ? { counters: { passes: 46 } } : {}) }),
  });
  expect(judged(slower, [gap('fast', 1.3)]).line).toMatchInlineSnapshot(
    `"changed output and 2.01× faster (1.99–2.03): a trade, not a win; it costs tokens/pass −13.0 %; fixed texts, scored as prompts, do not show it"`,
  );
});

test('ids equal, but work left out or fixed texts scored otherwise, is a changed output', () => {
  const fewer = asked(scored(0), {
    answer: (at) => ({
      ...twice.answer?.(at),
      ...(at.arm === 'fast'
        ? { counters: { lookups: 600, bySource: { hit: 300, pcie: 0, cpu: 200, file: 100, skipped: 0 } } }
        : {}),
    }),
  });
  expect(judged(fewer)).toMatchObject({ output: 'L3' });
  expect(judged(fewer).outputReason).toMatchInlineSnapshot(
    `"ids equal in all 12 requests, but 600 lookups instead of 800 in as many rows"`,
  );
  expect(judged(asked(scored(-0.05, 0, 'q'))).outputReason).toMatchInlineSnapshot(
    `"ids equal in all 12 requests, but fixed texts score otherwise: perplexity 105.13 %, same top-1 100.00 %"`,
  );
});

test('a baseline that parts from itself is the yardstick: alike is L2, beyond its noise L3, else LX', () => {
  const answer: RecordOptions['answer'] = (at) => ({
    ...parting?.(at),
    ...(at.arm === 'base' && at.kind === 'arbitrate' && at.block === 2 ? { ids: [0, 1, 2, 3, 88] } : {}),
  });
  const noisy = (own: Scored) => ({
    ...asked(own, { answer }),
    score: ({ arm, block }: { arm: string; block: number }) =>
      arm === 'fast' ? own : scored(block * 1e-5, 0, `${block}`),
  });
  expect(judged(noisy(scored(1e-5, 0, 'q')), [gap('base', 0.3), gap('fast', 0.2)])).toMatchObject({
    output: 'L2',
  });
  expect(judged(noisy(scored(-0.1, 0, 'q')), [gap('fast', 0.2)])).toMatchObject({ output: 'L3' });
  expect(judged({ ...asked(scored(0), { answer }), texts: 0 })).toMatchObject({ output: 'LX' });
});

test('the yardstick of a near tie, and the bound of a share', () => {
  expect(nearTieNats([])).toBe(0.05);
  expect(nearTieNats(Array.from({ length: 100 }, (_, i) => (i + 1) / 100))).toBe(0.99);
  // Wilson's interval of 9 in 10, as in Brown, Cai and DasGupta (2001): 0.5958 to 0.9821.
  expect(wilsonUpper(0.9, 10)).toBeCloseTo(0.9821, 4);
});

test('speed is split into tokens a pass and time a pass, to the last digit', () => {
  const { split, ratio } = judged({
    answer: ({ arm, block }) => ({
      rate: arm === 'fast' ? 150 + block : 100,
      counters: arm === 'fast' ? { passes: 32, accepted: 31 } : {},
    }),
  });
  if (split === undefined || ratio === null) throw new Error('no split');
  expect(split.tokensPerPass).toBeCloseTo(Math.log(40 / 32), 11);
  expect(split.tokPerSec).toBeCloseTo(split.tokensPerPass - split.msPerPass, 11);
  expect(split.tokPerSec).toBeCloseTo(Math.log(ratio[1]), 11);
});

test('a knob that was set and changed nothing anywhere is dead; any trace of it is life', () => {
  const knobs = (name: string) =>
    name === 'fast' ? { knobs: { fuse: true, lanes: 4 } } : { knobs: { lanes: 4 } };
  const still: RecordOptions = {
    arm: knobs,
    arbitrate: 'ask',
    logShape: () => 'shape',
    readyRaw: (arm) => ({ sizes: { slots: 8 }, lossy: arm === 'fast' ? ['fuse'] : [] }),
  };
  expect(judged(still).deadKnobs).toEqual(['fuse']);
  expect(verdictOf(makeRecord(still)).warnings).toContain(
    'dead knob: fast sets fuse, and no counter, byte, log line or token changed',
  );
  const alive: RecordOptions[] = [
    { logShape: (arm) => arm },
    { readyRaw: (arm) => ({ sizes: { slots: arm === 'fast' ? 9 : 8 } }) },
    { answer: ({ arm }) => ({ rate: arm === 'fast' ? 200 : 100 }) },
    { answer: ({ arm, prompt }) => (arm === 'fast' && prompt === 'prose-3-1' ? { finish: 'stop' } : {}) },
    {
      answer: ({ arm }) =>
        arm === 'fast'
          ? { counters: { bytes: { hit: 3e6, pcie: 0, cpu: 4e6, file: 1e6, dense: 1, engram: 0 } } }
          : {},
    },
    { answer: ({ arm }) => ({ logits: arm }) },
    { answer: () => ({ ids: null }) },
  ];
  for (const change of alive) expect(judged({ ...still, ...change }).deadKnobs).toBeUndefined();
  const { logShape: _, ...unread } = still;
  expect(judged(unread).deadKnobs).toBeUndefined();
});
