// Load that a protocol wants beside its runs: on in its blocks and off in the others, its dose on file, and no guard minds it.

import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { EngineError } from '../../src/core/errors.ts';
import { recomputeVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { enginesOf } from './helpers/child-rota.ts';
import { eventsOf, fakeProtocol, preparedPlan, runFakes } from './helpers/fake-session.ts';

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const BURN = 'while :; do :; done';
const arms = { base: { rate: 60 }, fast: { rate: 61 } };
const yaml = (background: unknown): string =>
  `background: ${JSON.stringify(background)}\nguards: {foreignCpuShare: 1}`;

test('a command runs beside the runs of its blocks and beside no other; its dose is in each window', async () => {
  using folder = temporaryFolder();
  const background = {
    name: 'burner',
    command: ['sh', '-c', BURN, `${folder.path}/model`],
    blocks: [2],
    settleS: 0.2,
  };
  const beside: string[] = [];
  const run = await runFakes(folder.path, arms, {
    blocks: 3,
    extra: yaml(background),
    session: {
      onProgress: ({ phase, block }) => {
        // Before an engine is launched whatever else has this word on its command line is the background.
        if (phase === 'launch') beside.push(`${block}: ${enginesOf(folder.path).length}`);
      },
    },
  });
  // One of the two is the engine that has just been started.
  expect(beside).toEqual(['1: 1', '1: 1', '2: 2', '2: 2', '3: 1', '3: 1']);
  const cores = (block: number) =>
    eventsOf(run.events, 'window')
      .filter(({ run: id, kind }) => id.startsWith(`b${block}.`) && kind === 'measure')
      .map(({ load }) => load.backgroundCpuShare);
  expect([...cores(1), ...cores(3)].every((share) => share === undefined)).toBe(true);
  expect(cores(2).every((share) => (share ?? 0) > 0)).toBe(true);
  const order = run.events.flatMap((event): (string | number)[] =>
    event.type === 'background_start' || event.type === 'background_end'
      ? [`${event.type} ${event.block}`]
      : event.type === 'run_start'
        ? [event.block]
        : [],
  );
  expect(order).toEqual([1, 1, 'background_start 2', 2, 2, 'background_end 2', 3, 3]);
  expect(eventsOf(run.events, 'background_end')).toMatchObject([{ early: false, exit: 'SIGTERM' }]);
  expect(run.verdict.background).toMatchObject({ name: 'burner', blocks: [2] });
  expect(run.verdict.background?.cores).toBeGreaterThan(0);
  expect(recomputeVerdict(run.folder)).toEqual(run.verdict);
});

test('an engine answers without end beside the runs, and its answers are counted', async () => {
  using folder = temporaryFolder();
  const background = {
    name: 'other',
    engine: 'fake',
    knobs: { rate: 2000, shift: 3 },
    maxNew: 20,
    settleS: 0.1,
  };
  const run = await runFakes(folder.path, arms, { blocks: 2, extra: yaml(background) });
  const [first, second, ...none] = eventsOf(run.events, 'background_end');
  expect(none).toEqual([]);
  for (const end of [first, second]) {
    expect(end).toMatchObject({ early: false, exit: 0 });
    expect(end?.answers).toBeGreaterThan(5);
    expect(end?.tokens).toBe(20 * (end?.answers ?? 0));
  }
  expect(eventsOf(run.events, 'background_start')[0]?.argv).toContain('--shift');
  expect(readFileSync(`${run.folder.logs}/background.b1.log`, 'utf8')).toContain('fake engine steady starts');
  // Its windows are nowhere, and it changed nothing of what was said.
  expect(eventsOf(run.events, 'window').every(({ run: id }) => /^b\d\.p\d\.(base|fast)$/.test(id))).toBe(
    true,
  );
  expect(run.verdict.arms.map(({ output }) => output)).toEqual(['L0', 'L0', 'L0', 'L0']);
  expect(enginesOf(folder.path)).toEqual([]);
});

test('a background that ends by itself makes the run void that it left, and is started again for the next', async () => {
  using folder = temporaryFolder();
  // Ends in its first life only, in the middle of the first run.
  const script = `n=$(cat ${folder.path}/lives 2>/dev/null || echo 0); echo $((n+1)) > ${folder.path}/lives; [ $n = 0 ] && sleep 0.3 && exit 7; sleep 300`;
  const background = { command: ['sh', '-c', script], settleS: 0 };
  const run = await runFakes(folder.path, arms, { extra: yaml(background) });
  const ends = eventsOf(run.events, 'run_end').map(({ status, reason }) => `${status}: ${reason}`);
  expect(ends).toEqual(['void: the background ended by itself: exit code 7', 'ok: null', 'ok: null']);
  expect(eventsOf(run.events, 'background_end')).toMatchObject([
    { early: true, exit: 7 },
    { early: false, exit: 'SIGTERM' },
  ]);
  expect(run.verdict.complete).toBe(true);
});

test.each([
  [{ command: ['no-such-neighbour'] }, 'no-such-neighbour, the background, is missing or not executable'],
  [
    { name: 'sick', engine: 'fake', knobs: { play: 'crash-at-load' } },
    'the background sick: the engine ended while it should get ready: exit code 3',
  ],
])(
  'one that cannot be started ends the session: nothing would be measured beside it (%#)',
  async (background, message) => {
    using folder = temporaryFolder();
    const failed = runFakes(folder.path, arms, { extra: yaml(background) });
    await expect(failed).rejects.toThrow(message);
    await expect(failed).rejects.toBeInstanceOf(EngineError);
    expect(enginesOf(folder.path)).toEqual([]);
  },
);

test('half of the blocks: drawn by the seed, the same each time', () => {
  using folder = temporaryFolder();
  const drawn = (seed: number, blocks: number | string = 'half') => {
    const extra = `seed: ${seed}\n${yaml({ command: ['true'], blocks })}`;
    return preparedPlan(fakeProtocol(folder.path, arms, { blocks: 6, extra })).background?.blocks ?? [];
  };
  const all = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => drawn(seed));
  for (const blocks of all) {
    expect(blocks).toHaveLength(3);
    expect([...blocks].sort((a, b) => a - b)).toEqual(blocks);
    expect(new Set(blocks).size).toBe(3);
  }
  expect(drawn(1)).toEqual(all[0]);
  expect(new Set(all.map(String)).size).toBeGreaterThan(3);
  expect(drawn(1, 'all')).toEqual([1, 2, 3, 4, 5, 6]);
});
