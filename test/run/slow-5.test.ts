// Committed records of a slowdown of known size on a real engine: it was found, and this closely.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readPlan } from '../../src/results/read.ts';
import { runFolder } from '../../src/results/run-folder.ts';
import { deriveRecord } from '../../src/run/verdict-file.ts';

const REFERENCE = fileURLToPath(new URL('../../results/reference', import.meta.url));
const RECORDS = readdirSync(REFERENCE)
  .map((name) => runFolder(join(REFERENCE, name)))
  .filter((folder) => readPlan(folder).protocol === 'slow-5');
/** Stopped for 1 ms after each 20 ms. */
const TRUE_RATIO = 20 / 21;

test.skipIf(RECORDS.length > 0)('slow-5 is held to its known effect', ({ skip }) => {
  skip('no record of protocols/slow-5.yaml lies below results/reference');
});

test.each(RECORDS)('$name: the same output, 20 / 21 inside the interval, known to 2 points', (folder) => {
  const { plan, verdict } = deriveRecord(folder);
  const throttled = plan.arms.filter(({ knobs }) => knobs['throttle'] === '20:1');
  expect(throttled).toHaveLength(1);
  expect(verdict.complete).toBe(true);
  const slow = verdict.arms.find(({ arm }) => arm === throttled[0]?.name);
  expect(slow).toMatchObject({ output: 'L0', speed: 'slower' });
  const [low = 1, , high = 1] = slow?.ratio ?? [];
  expect(low).toBeLessThan(TRUE_RATIO);
  expect(high).toBeGreaterThan(TRUE_RATIO);
  expect((high - low) / 2).toBeLessThanOrEqual(0.02);
});
