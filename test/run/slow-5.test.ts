// The committed record of a slowdown of known size on a real engine: it was found, and this closely.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runFolder } from '../../src/results/run-folder.ts';
import { deriveRecord } from '../../src/run/verdict-file.ts';

const REFERENCE = fileURLToPath(new URL('../../results/reference', import.meta.url));
const NAMES = readdirSync(REFERENCE).filter((name) => name.includes('-slow-5-'));

test.skipIf(NAMES.length === 0)(
  'stopped for 1 ms after each 20 ms: the same output, 20 / 21 inside the interval, known to 2 points',
  () => {
    expect(NAMES).toHaveLength(1);
    const { plan, verdict } = deriveRecord(runFolder(join(REFERENCE, NAMES[0] ?? '')));
    expect(plan.arms.find(({ name }) => name === 'slow')?.knobs).toMatchObject({ throttle: '20:1' });
    expect(verdict.complete).toBe(true);
    const slow = verdict.arms.find(({ arm }) => arm === 'slow');
    expect(slow).toMatchObject({ output: 'L0', speed: 'slower' });
    const [low = 1, , high = 1] = slow?.ratio ?? [];
    expect(low).toBeLessThan(20 / 21);
    expect(high).toBeGreaterThan(20 / 21);
    expect((high - low) / 2).toBeLessThanOrEqual(0.02);
  },
);
