// The speed verdict as statistics: words, Holm and intervals never contradict each other.

import { expect, test } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { holm } from '../../../src/core/stats/holm.ts';
import { pairedEstimate } from '../../../src/core/stats/paired.ts';
import { type Comparison, FAMILY_ALPHA, judgeSpeed, speedWord } from '../../../src/core/verdict/speed.ts';

const MARGIN = 0.03;

test('words from intervals: certain differences first, then certain smallness', () => {
  const words = [
    [1.001, 1.002],
    [0.9, 0.999],
    [0.98, 1.02],
    [0.98, 1.08],
    [0.9, 1.08],
    [0.9, 1.01],
    [1, 1],
  ].map(([low = 0, high = 0]) => speedWord([low, high], MARGIN));
  expect(words).toEqual([
    'faster',
    'slower',
    'equivalent',
    'non-inferior',
    'inconclusive',
    'inconclusive',
    'equivalent',
  ]);
});

test('an interval excludes 1 exactly when Holm rejects, for effects and noise of all sizes', () => {
  const rng = createRng('families');
  const seen = new Set<string>();
  for (let family = 0; family < 12; family++) {
    const comparisons = Array.from(
      { length: 4 },
      (_, arm): Comparison => ({
        arm: `a${arm}`,
        class: 'prose',
        rates: Array.from({ length: 4 }, () => ({
          base: 100,
          arm: 100 * (1 + 0.02 * arm + 0.05 * (rng.float() - 0.5)),
        })),
      }),
    );
    const p = comparisons.map(
      ({ rates }) => pairedEstimate(rates.map(({ arm, base }) => Math.log((arm ?? 1) / (base ?? 1))))?.p ?? 1,
    );
    const decided = holm(p, FAMILY_ALPHA);
    for (const [index, finding] of judgeSpeed(comparisons, MARGIN).entries()) {
      const [low, , high] = finding.ratio ?? [0, 0, 0];
      expect(low > 1 || high < 1).toBe(decided[index]?.rejected);
      expect(['faster', 'slower'].includes(finding.speed)).toBe(decided[index]?.rejected);
      seen.add(finding.speed);
    }
  }
  expect(seen.size).toBeGreaterThan(1);
});

test('blocks without both rates are left out, and a comparison without any keeps its place in the family', () => {
  const rates = [
    { arm: 210, base: 100 },
    { arm: null, base: 100 },
    { arm: 200, base: null },
    { arm: 205, base: 100 },
    { arm: 207, base: 100 },
  ];
  const one: Comparison = { arm: 'a', class: 'prose', rates };
  const none: Comparison = { arm: 'b', class: 'prose', rates: [] };
  const [alone] = judgeSpeed([one], MARGIN);
  const [beside, empty] = judgeSpeed([one, none], MARGIN);
  expect(alone).toMatchObject({ speed: 'faster', blocks: 3 });
  expect(empty).toEqual({ speed: 'inconclusive', ratio: null, blocks: 0, detectable: null, needed: null });
  expect((beside?.ratio?.[2] ?? 0) - (beside?.ratio?.[0] ?? 0)).toBeGreaterThan(
    (alone?.ratio?.[2] ?? 0) - (alone?.ratio?.[0] ?? 0),
  );
});
