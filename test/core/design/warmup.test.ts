// The warm-up rule: floor, steadiness, cap.

import { expect, test } from 'vitest';
import { judgeWarmup, type WarmupWindow } from '../../../src/core/design/warmup.ts';
import { createRng } from '../../../src/core/rng.ts';

const rule = {
  floorPromptsPerClass: 2,
  floorTokens: 256,
  windows: 5,
  maxSlopePerWindow: 0.005,
  maxHitRatioChange: 0.01,
  capRequests: 20,
  capSeconds: 600,
};

/** Windows of two classes in turn; prose runs at half the rate of code. */
function windows(count: number, of: (index: number) => Partial<WarmupWindow> = () => ({})): WarmupWindow[] {
  return Array.from({ length: count }, (_, index) => ({
    class: index % 2 ? 'prose' : 'code',
    tokens: 64,
    tokPerSec: index % 2 ? 40 : 80,
    hits: index % 2 ? 700 : 500,
    lookups: 1000,
    ...of(index),
  }));
}

const judge = (list: readonly WarmupWindow[], seconds = 1) =>
  judgeWarmup(rule, ['code', 'prose'], list, seconds);

test('the floor: prompts of each class, then tokens, then windows', () => {
  expect(judge([])).toMatchInlineSnapshot(`
    {
      "reason": "code: 0 of 2 prompts",
      "state": "continue",
    }
  `);
  expect(judge(windows(3))).toMatchInlineSnapshot(`
    {
      "reason": "prose: 1 of 2 prompts",
      "state": "continue",
    }
  `);
  expect(judge(windows(6, () => ({ tokens: 10 })))).toMatchInlineSnapshot(`
    {
      "reason": "60 of 256 tokens",
      "state": "continue",
    }
  `);
  expect(judge(windows(4))).toMatchInlineSnapshot(`
    {
      "reason": "4 of 5 windows",
      "state": "continue",
    }
  `);
});

test('constant rates are steady, although the classes differ', () => {
  expect(judge(windows(5))).toMatchInlineSnapshot(`
    {
      "reason": "steady after 5 requests",
      "state": "steady",
    }
  `);
});

test('a rate that still rises keeps warming', () => {
  const rising = windows(8, (i) => ({ tokPerSec: (i % 2 ? 40 : 80) * 1.03 ** i }));
  expect(judge(rising)).toMatchInlineSnapshot(`
    {
      "reason": "the rate moves +3.0 % a window",
      "state": "continue",
    }
  `);
});

test('only the last windows count: a rise that has ended is no rise', () => {
  const list = windows(12, (i) => ({ tokPerSec: (i % 2 ? 40 : 80) * 1.2 ** Math.min(i, 6) }));
  expect(judge(list.slice(0, 9)).state).toBe('continue');
  expect(judge(list).state).toBe('steady');
});

test('a hit ratio that still rises keeps warming at a constant rate', () => {
  const list = windows(6, (i) => ({ hits: 500 + 10 * i + (i % 2 ? 200 : 0) }));
  expect(judge(list)).toMatchInlineSnapshot(`
    {
      "reason": "the hit ratio moved +4.0 % over 5 windows",
      "state": "continue",
    }
  `);
});

test('engines without counters are judged by their rate alone', () => {
  expect(judge(windows(6, () => ({ hits: null, lookups: null }))).state).toBe('steady');
});

test('noise around a constant rate ends well before the cap', () => {
  let steady = 0;
  for (let seed = 0; seed < 200; seed++) {
    const rng = createRng(seed);
    const list = windows(20, (i) => ({ tokPerSec: (i % 2 ? 40 : 80) * (1 + 0.06 * (rng.float() - 0.5)) }));
    const ended = list.findIndex((_, i) => i > 3 && i < 12 && judge(list.slice(0, i + 1)).state === 'steady');
    if (ended > 0) steady++;
  }
  expect(steady).toBeGreaterThan(190);
});

test('the cap ends it, says so, and says what was missing', () => {
  const rising = windows(20, (i) => ({ tokPerSec: (i % 2 ? 40 : 80) * 1.03 ** i }));
  expect(judge(rising)).toMatchInlineSnapshot(`
    {
      "reason": "the rate moves +3.0 % a window; stopped at the cap of 20 requests",
      "state": "cap",
    }
  `);
  expect(judge(windows(2), 601)).toMatchInlineSnapshot(`
    {
      "reason": "code: 1 of 2 prompts; stopped at the cap of 600 s",
      "state": "cap",
    }
  `);
});

test('a window without a rate is not steady', () => {
  expect(judge(windows(7, (i) => (i === 5 ? { tokPerSec: null } : {}))).state).toBe('continue');
});
