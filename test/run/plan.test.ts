// From a checked protocol to a plan: everything is drawn by the seed, and nothing is left to chance later.

import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UserError } from '../../src/core/errors.ts';
import { classOrder } from '../../src/run/class-order.ts';
import { encodePrompts } from '../../src/run/prepare.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { fakeProtocol, LETTERS, preparedPlan } from './helpers/fake-session.ts';

const arms = { base: {}, fast: { rate: 9 }, odd: { shift: 1 } };

test('a plan says what every arm runs, in which order, on which prompts', () => {
  using folder = temporaryFolder();
  const plan = preparedPlan(fakeProtocol(folder.path, arms, { blocks: 3 }));
  expect(plan.arms.map(({ name, argv, lossyKnobs }) => [name, argv.slice(2), lossyKnobs])).toEqual([
    ['base', ['--model', path.join(folder.path, 'model')], []],
    ['fast', ['--model', path.join(folder.path, 'model'), '--rate', '9'], []],
    ['odd', ['--model', path.join(folder.path, 'model'), '--shift', '1'], ['shift']],
  ]);
  expect(plan.arms[0]?.counting).toEqual({ file: 'disjoint', unit: 'lookup' });
  expect(new Set(plan.runs.map(({ id }) => id)).size).toBe(9);
  for (const block of [1, 2, 3]) {
    const runs = plan.runs.filter((run) => run.block === block);
    expect(runs.map(({ arm }) => arm).sort()).toEqual(['base', 'fast', 'odd']);
    expect(runs.map(({ position }) => position)).toEqual([1, 2, 3]);
  }
  for (const workload of plan.workloads) {
    const texts = workload.promptsByBlock.flat().map(({ text }) => text);
    expect(new Set(texts).size).toBe(3);
    for (const warm of workload.warmupPrompts) expect(texts).not.toContain(warm.text);
  }
  expect(plan.minDetectableEffect).toBeGreaterThan(0);
  expect(plan.expectedMinutes).toBeGreaterThan(0);
});

test('the same seed draws the same, another seed another', () => {
  using folder = temporaryFolder();
  const drawn = (seed: number) => {
    const plan = preparedPlan(fakeProtocol(folder.path, arms, { blocks: 3, extra: `seed: ${seed}` }));
    return JSON.stringify([plan.runs, plan.workloads]);
  };
  expect(drawn(5)).toBe(drawn(5));
  expect(new Set([1, 2, 3, 4, 5, 6].map(drawn)).size).toBeGreaterThan(3);
});

test('two arms that run the same command are refused where they were written', () => {
  using folder = temporaryFolder();
  const protocol = fakeProtocol(folder.path, { base: { rate: 5 }, same: { rate: 5 } });
  expect(() => preparedPlan(protocol)).toThrow(
    new UserError('arms.same: resolves to the same command line and environment as base', {
      where: 'p.yaml:5:26',
      hint: 'change a knob of one of them, or remove one',
    }),
  );
});

test('the order of classes is a shuffle by seed and block, the same whenever it is asked for', () => {
  const workloads = ['a', 'b', 'c', 'd'].map((name) => ({
    class: name,
    maxNew: 2,
    ignoreEos: true,
    promptsByBlock: [],
    warmupPrompts: [],
  }));
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 50 }), (seed, block) => {
      const order = classOrder({ seed, workloads }, block);
      expect(order.toSorted()).toEqual(['a', 'b', 'c', 'd']);
      expect(classOrder({ seed, workloads }, block)).toEqual(order);
    }),
  );
  const orders = new Set(
    [1, 2, 3, 4, 5, 6, 7, 8].map((block) => classOrder({ seed: 1, workloads }, block).join('')),
  );
  expect(orders.size).toBeGreaterThan(3);
});

test('prompts are encoded before the first engine starts, with what belongs in front', async () => {
  using folder = temporaryFolder();
  const plan = preparedPlan(fakeProtocol(folder.path, arms));
  const ids = await encodePrompts(plan, async () => LETTERS);
  const model = plan.arms[0]?.model ?? '';
  const prompt = plan.workloads[0]?.warmupPrompts[0];
  if (prompt === undefined) throw new Error('no warm-up prompt');
  expect(ids(model, prompt)).toEqual([1, ...LETTERS.encode(prompt.text)]);
  expect(() => ids(model, { id: 'x', text: 'never planned' })).toThrow('prompt x was not encoded');
  const bare = await encodePrompts(plan, async () => ({ ...LETTERS, bosId: null }));
  expect(bare(model, prompt)).toEqual(LETTERS.encode(prompt.text));
  const empty = encodePrompts(plan, async () => ({ encode: () => [], bosId: 1 }));
  await expect(empty).rejects.toThrow('has no tokens for this model');
});
