// rota score with the real engine on a synthetic model: exact against itself is exactly 0 and 1 whatever the tiers, a bias is not, and
// what is bent in decode alone shows only where text is read as decode reads it.
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { ClassScore, ScoreReport } from '../../src/core/records/score.ts';
import { type Bench, createBench } from '../cli/helpers/rota.ts';
import { synthesise } from '../native/helpers/strata.ts';

vi.setConfig({ testTimeout: 240_000 });

const ENGINES = new URL('../../engines', import.meta.url).pathname;
const SIZES = ['--window', '24', '--context', '8', '--windows', '3', '--texts', '1', '--max-new', '12'];

let bench: Bench;
let model: string;
beforeAll(() => {
  bench = createBench();
  model = synthesise(bench.folder, 'mini-s');
  bench.write(
    'prose.txt',
    'Good bread is mostly patience. The flour and the water need an hour alone. '.repeat(3),
  );
});
afterAll(() => {
  rmSync(model, { force: true });
  bench.remove();
});

const run = (...words: string[]) =>
  bench.rota(
    'score',
    '--engines',
    ENGINES,
    'strata',
    '-m',
    model,
    '--text',
    'prose=prose.txt',
    ...SIZES,
    '--share-machine',
    ...words,
  );

async function score(
  ...words: string[]
): Promise<{ report: ScoreReport; of: (arm: string) => ClassScore | undefined }> {
  const { stdout, stderr, exitCode } = await run('--json', ...words);
  expect(exitCode, stderr).toBe(0);
  const report: ScoreReport = JSON.parse(stdout);
  return { report, of: (arm) => report.arms.find(({ name }) => name === arm)?.classes[0] };
}

const ITSELF = { divergence: { value: 0, interval: [0, 0] }, sameTop1: { value: 1, interval: [1, 1] } };

test('exact against itself, in other tiers and by other passes too; a bias is lossy', async () => {
  const tiers = 'slots=0,arena=10%,depth=0,prompt-batch=5';
  const { report, of } = await score(
    '-k',
    'slots=25%',
    '--arm',
    'exact',
    '--arm',
    tiers,
    '--arm',
    'bias=1.0',
  );
  expect(of('exact')).toMatchObject({ ...ITSELF, windows: 3, places: 45 });
  expect(of(tiers)).toMatchObject({ ...ITSELF, perplexityRatio: { value: 1, interval: [1, 1] } });
  expect(of(tiers)?.prefillSha256).toBe(of('exact')?.prefillSha256);
  const biased = of('bias=1.0');
  expect(biased?.divergence?.interval?.[0]).toBeGreaterThan(0.01);
  expect(biased?.sameTop1.value).toBeLessThan(0.9);
  expect(biased?.prefillSha256).toBe(of('exact')?.prefillSha256);
  expect(report.arms.find(({ name }) => name === 'bias=1.0')).toMatchObject({
    knobs: { slots: '25%', 'route-bias': 1 },
    lossy: ['route-bias'],
    device: 'host',
  });
});

test('read as a prompt, the same bias is not seen unless it acts on prompts', async () => {
  const { of } = await score('--rows', 'prompt', '--arm', 'bias=1.0', '--arm', 'bias=1.0,prompt-bias=1');
  expect(of('bias=1.0')).toMatchObject(ITSELF);
  expect(of('bias=1.0,prompt-bias=1')?.divergence?.value).toBeGreaterThan(0.01);
});

test('a window that is longer than the context', async () => {
  const short = await run('-k', 'ctx=16');
  expect([short.exitCode, short.stderr.split('\n').at(-1)]).toEqual([
    2,
    'rota: --window: the engine refuses a window: 24 tokens, the context holds 16 (--ctx); take smaller windows, or give the arm a longer context',
  ]);
});
