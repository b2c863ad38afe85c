// How long a run may take: from the newest run that was like it, else a guess.

import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { expectedFromHistory, expectedFromSize } from '../../src/run/expected.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { preparedPlan, runFakes } from './helpers/fake-session.ts';

vi.setConfig({ testTimeout: 60_000 });

test('the next plan of the same protocol expects what the last one took; another protocol does not', async () => {
  using folder = temporaryFolder();
  const { protocol, plan, folder: run } = await runFakes(folder.path, { a: {}, b: { rate: 1900 } });
  const results = path.join(folder.path, 'results');
  const expected = expectedFromHistory(results, plan);
  expect(expected?.source).toBe(`measured: ${run.name}`);
  expect((expected?.minutes ?? 0) * 60).toBeGreaterThan(0.05);
  expect(preparedPlan(protocol).expectedMinutes).toBeCloseTo((expected?.minutes ?? 0) * 2, 9);
  expect(expectedFromHistory(results, { ...plan, protocolSha256: 'another' })).toBeNull();
  expect(expectedFromHistory(path.join(folder.path, 'none'), plan)).toBeNull();
});

test('a guess grows with the work; without a model there is none', () => {
  using folder = temporaryFolder();
  const { warmup } = {
    warmup: {
      floorPromptsPerClass: 1,
      floorTokens: 10,
      windows: 3,
      maxSlopePerWindow: 1,
      maxHitRatioChange: 1,
      capRequests: 5,
      capSeconds: 5,
    },
  };
  const guess = (perBlock: number) =>
    expectedFromSize(folder.path, { warmup, workloads: [{ perBlock, maxNew: 64 }] })?.minutes ?? 0;
  expect(guess(4)).toBeGreaterThan(guess(1));
  expect(expectedFromSize('/no/such/model', { warmup, workloads: [] })).toBeNull();
});
