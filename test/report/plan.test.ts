// The plan as it is printed before anything runs.

import { expect, test } from 'vitest';
import { minutes, number, share } from '../../src/report/format.ts';
import { fold, type Look, NO_PAINT } from '../../src/report/paint.ts';
import { planReport, sensitivity } from '../../src/report/plan.ts';
import { drawTable } from '../../src/report/table.ts';
import { makePlan } from '../core/verdict/record.ts';

const LOOK: Look = { paint: NO_PAINT, ascii: false, width: 100 };

test('arms with their commands, the order of every block, time and sensitivity', () => {
  const plan = makePlan({
    arms: ['base', 'bias'],
    classes: ['prose', 'code'],
    blocks: 2,
    arm: (name) => (name === 'bias' ? { lossyKnobs: ['route-bias'], env: { OMP: '1 2' } } : {}),
    plan: { minDetectableEffect: 0.213 },
  });
  expect(planReport(plan, LOOK)).toMatchInlineSnapshot(`
    "made-up  2 arms · 2 classes · 2 blocks · 4 runs · about 4 min

    2 blocks can see differences of 21 % or more (80 % power, 2 comparisons) at a spread of 1.7 %
      between paired runs (assumed: a quiet machine; not measured here); with fewer than 4 blocks the
      spread itself is hardly known

    base (baseline)  rota-strata --model m.gguf --arm base
    bias             OMP='1 2' rota-strata --model m.gguf --arm bias  [lossy: route-bias]

    block  order
    ─────────────────
        1  base, bias
        2  base, bias

    class  prompts a block  tokens each  warm-up prompts
    ────────────────────────────────────────────────────
    prose                2           64                1
    code                 2           64                1
    "
  `);
});

test('one block sees nothing, and says so', () => {
  expect(sensitivity(makePlan({ blocks: 1, plan: { minDetectableEffect: null } }))).toMatchInlineSnapshot(
    `"1 block cannot tell a difference from noise: ask for at least 4"`,
  );
  expect(sensitivity(makePlan({ plan: { minDetectableEffect: 0.0512 } }))).toMatchInlineSnapshot(
    `"4 blocks can see differences of 5.1 % or more (80 % power, 1 comparison) at a spread of 1.7 % between paired runs (assumed: a quiet machine; not measured here)"`,
  );
});

test('times are as exact as a guess can be', () => {
  expect([null, 0.004, 0.5, 5.4, 89, 150].map(minutes)).toMatchInlineSnapshot(`
    [
      "an unknown time",
      "about 1 s",
      "about 30 s",
      "about 5 min",
      "about 89 min",
      "about 2.5 h",
    ]
  `);
});

test('numbers have the digits they deserve', () => {
  expect([0, 0.00123, 0.0345, 1.2345, 34.567, 345.67, 34567.8, null].map(number)).toMatchInlineSnapshot(`
    [
      "0",
      "0.00123",
      "0.035",
      "1.23",
      "34.57",
      "345.7",
      "34568",
      "n/a",
    ]
  `);
  expect([0, 0.0004, 0.4567, 1, 12.3, null].map(share)).toMatchInlineSnapshot(`
    [
      "0 %",
      "<0.1 %",
      "45.7 %",
      "100 %",
      "1230 %",
      "n/a",
    ]
  `);
});

test('folding keeps every word and its width', () => {
  const text = 'one two three four five sixsixsixsixsix seven';
  const folded = fold(text, 12, '  ');
  expect(folded.split(/\s+/)).toEqual(text.split(' '));
  for (const line of folded.split('\n'))
    expect(line.length <= 12 || line.trim() === 'sixsixsixsixsix').toBe(true);
  expect(fold('', 10, '  ')).toBe('');
});

test('a table aligns wide characters and writes a group once', () => {
  const columns = [
    { head: 'class', align: 'left' },
    { head: 'n', align: 'right' },
  ] as const;
  const rows = [
    ['散文', '1'],
    ['散文', '20'],
    ['code', '300'],
  ];
  expect(drawTable(columns, rows)).toMatchInlineSnapshot(`
    "class    n
    ──────────
    散文     1
            20

    code   300"
  `);
});
