// From a run folder to its pass-time model, with a fake engine whose costs are known.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EngineError, InvalidRecordError, UserError } from '../../src/core/errors.ts';
import { fitReport } from '../../src/report/fit.ts';
import { NO_PAINT } from '../../src/report/paint.ts';
import { fitRun } from '../../src/run/fit-run.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { eventsOf, type FakeRun, runFakes } from './helpers/fake-session.ts';

const base = temporaryFolder();
let run: FakeRun;
beforeAll(async () => {
  const arms = { base: { play: 'costs-misses' }, other: { play: 'costs-misses', rate: 3000 } };
  const extra = 'guards: {foreignCpuShare: 1}\n';
  run = await runFakes(base.path, arms, { hasLedger: true, blocks: 4, extra });
});
afterAll(() => base[Symbol.dispose]());

const ALL = { unit: 'lookup' } as const;

test('what a pass costs is found again, each arm by itself', () => {
  const { arms, classes, device } = fitRun(run.folder, ALL);
  expect([classes, device]).toEqual([['code', 'prose'], 'fake']);
  expect(arms.map(({ arm, fit }) => [arm, fit?.passes, fit?.runs, fit?.blocks])).toEqual([
    ['base', 88, 4, 4],
    ['other', 88, 4, 4],
  ]);
  for (const { fit, unusable } of arms) {
    expect(unusable).toBe(0);
    const value = (name: string) => fit?.terms.find(({ term }) => term === name)?.value;
    expect(value('constant')).toBeCloseTo(1, 2);
    expect(value('rows')).toBeCloseTo(0.3, 2);
    expect(value('file')).toBeCloseTo(0.2, 2);
    expect(value('cpu')).toBeCloseTo(0, 2);
    expect(fit?.leftOut).toEqual([{ term: 'pcie', why: 'never varies' }]);
    expect(fit?.heldOutR2).toBeGreaterThan(0.99);
    // The parts of the mean pass are the mean pass.
    const parts = fit?.terms.reduce((sum, { meanMs }) => sum + meanMs, 0);
    expect(parts).toBeCloseTo(fit?.meanMs ?? 0, 9);
  }
});

test('by MB, of one arm and one class', () => {
  const { arms, classes } = fitRun(run.folder, { unit: 'MB', arm: 'other', class: 'prose' });
  expect([classes, arms.map(({ arm, fit }) => [arm, fit?.passes])]).toEqual([['prose'], [['other', 44]]]);
  const [found] = arms;
  const file = found?.links.find(({ source }) => source === 'file');
  // 0.2 ms a megabyte.
  expect(file?.gbPerSec).toBeCloseTo(5, 1);
  expect(file?.line).toMatch(/nothing measured this link$/);
});

test('as a person reads it', () => {
  const text = fitReport(fitRun(run.folder, { ...ALL, arm: 'base' }), {
    paint: NO_PAINT,
    ascii: false,
    width: 120,
  });
  expect(text.replace(run.folder.name, 'FOLDER')).toMatchInlineSnapshot(`
    "pass time  FOLDER
    device fake · passes of code, prose · ms = a + b·rows + c·pcie + d·file + e·cpu, each arm by itself

    arm   term          ms  each    interval              VIF    of a pass    share
    ───────────────────────────────────────────────────────────────────────────────
    base  a pass     0.999          0.998 to 0.999                0.999 ms   50.0 %
          rows       0.301  row     0.300 to 0.301       1.84     0.605 ms   30.3 %
          file       0.200  lookup  0.200 to 0.200       1.06     0.393 ms   19.7 %
          cpu     −0.00001  lookup  −0.00016 to 0.00014  1.90  −0.00003 ms  −<0.1 %

    base: 88 passes of 4 runs in 4 blocks, 2.00 ms each; R² 1.000, held out 1.000; 0.00178 ms are left
    base: pcie is left out: it never varies
    base: file: the slope says 5.00 GB/s: not compared: nothing measured this link
    base: cpu: the slope says no time at all: not compared: nothing measured this link

    interval: 95 %, errors clustered by run (CR2, Satterthwaite) · VIF: how much likeness to the other terms swells the
      variance · of a pass: the term at its mean · a slope of a source: what one more there costs instead of a hit · held
      out: every block foretold by the others
    "
  `);
});

test('an arm or a class that is not there is a typing error; a run without ledgers cannot be fitted', async () => {
  expect(() => fitRun(run.folder, { ...ALL, arm: 'bas' })).toThrowError(UserError);
  expect(() => fitRun(run.folder, { ...ALL, class: 'poems' })).toThrowError(/there is no class "poems"/);
  using bare = temporaryFolder();
  const without = await runFakes(
    bare.path,
    { base: {}, fast: { rate: 3000 } },
    { extra: 'guards: {foreignCpuShare: 1}\n' },
  );
  expect(() => fitRun(without.folder, ALL)).toThrowError(EngineError);
  expect(() => fitRun(without.folder, ALL)).toThrowError(/has no ledger to fit/);
});

test('an altered ledger and a ledger that contradicts the answers are no ground for a model', async () => {
  const [end] = eventsOf(run.events, 'run_end');
  const file = path.join(run.folder.path, end?.ledger?.file ?? '');
  const good = readFileSync(file);
  writeFileSync(file, Buffer.concat([good, Buffer.from(' ')]));
  expect(() => fitRun(run.folder, ALL)).toThrowError(InvalidRecordError);
  writeFileSync(file, good);
  using other = temporaryFolder();
  const arms = { base: { play: 'lying-ledger' }, fast: { play: 'keeps-ledger', rate: 3000 } };
  const liar = await runFakes(other.path, arms, { hasLedger: true, extra: 'guards: {foreignCpuShare: 1}\n' });
  expect(() => fitRun(liar.folder, ALL)).toThrowError(/counters contradict themselves/);
});
