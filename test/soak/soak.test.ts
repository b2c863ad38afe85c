// The short form of `npm run soak`, and its rule: what leaks is seen.

import { expect, test } from 'vitest';
import { notFlat, type Sample } from './flatness.js';
import { soak } from './soak.js';

function samples(rss: (i: number) => number, descriptors: (i: number) => number = () => 12): Sample[] {
  return Array.from({ length: 100 }, (_, i) => ({
    request: i * 20,
    rssBytes: rss(i),
    descriptors: descriptors(i),
  }));
}

const MIB = 2 ** 20;

test('memory that settles is flat; what creeps, jumps or leaks descriptors is not', () => {
  expect(notFlat(samples((i) => 40 * MIB + Math.min(i, 15) * MIB))).toEqual([]);
  expect(notFlat(samples((i) => 40 * MIB + (i % 7) * 100_000))).toEqual([]);
  expect(notFlat(samples((i) => 40 * MIB + i * 30_000))).toHaveLength(1);
  expect(notFlat(samples((i) => (i < 60 ? 40 : 43) * MIB))).toHaveLength(1);
  expect(
    notFlat(
      samples(
        () => 40 * MIB,
        (i) => 12 + Math.floor(i / 90),
      ),
    ),
  ).toEqual(['open descriptors grew from 12 to 13']);
  expect(notFlat([])).toEqual(['0 samples are too few to say']);
});

test('ninety requests of every kind leave the engine as it was', async () => {
  const { problems, samples: taken } = await soak({ requests: 90, seed: 2 });
  expect(problems).toEqual([]);
  expect(taken.length).toBe(90);
}, 180_000);
