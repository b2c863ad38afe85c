// Looks and screening through the real runner: what is decided is journaled once, ends the session or an arm, and survives a resume.

import { expect, test, vi } from 'vitest';
import { readJournal } from '../../src/results/journal.ts';
import { newRunFolder } from '../../src/run/prepare.ts';
import { runSession } from '../../src/run/session.ts';
import { recomputeVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { eventsOf, fakeProtocol, preparedPlan, runFakes, sessionOptions } from './helpers/fake-session.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

test('a sweep runs the arms that are kept on, and the others no more', async () => {
  using folder = temporaryFolder();
  const arms = { base: { rate: 1500 }, fast: { rate: 6000 }, slow: { rate: 300 } };
  const run = await runFakes(folder.path, arms, { blocks: 4, extra: 'sweep: {screen: 2}' });
  const decisions = eventsOf(run.events, 'decision').map(({ decision }) => decision);
  expect(decisions).toHaveLength(1);
  expect(decisions[0]).toMatchObject({ afterBlock: 2, because: 'screening', leftOut: ['slow'] });
  const blocksOf = (arm: string) =>
    eventsOf(run.events, 'run_start')
      .filter((start) => start.arm === arm)
      .map(({ block }) => block);
  expect(blocksOf('slow')).toEqual([1, 2]);
  expect(blocksOf('fast')).toEqual([1, 2, 3, 4]);
  expect(run.outcome).toMatchObject({ status: 'finished', exitCode: 0 });
  expect(run.verdict.complete).toBe(true);
  expect(run.progress.flatMap(({ note }) => note ?? [])).toContain(decisions[0]?.reason);
});

test('a look that stops ends the session; a resume does not begin anew, and the verdict is made again byte for byte', async () => {
  using folder = temporaryFolder();
  const extra = 'stop: {looks: [2, 3, 6], precision: 0.5}\nmargin: 0.4';
  const protocol = fakeProtocol(folder.path, { base: {}, same: { shift: 1 } }, { blocks: 6, extra });
  const plan = preparedPlan(protocol);
  const record = newRunFolder(`${folder.path}/results`, plan);
  // Interrupted in the second block: the decisions of the session that goes on are those of the whole record.
  let launches = 0;
  const first = await sessionOptions(protocol, plan, record, {
    onProgress: ({ phase }) => {
      if (phase === 'launch' && ++launches === 4) process.emit('SIGINT', 'SIGINT');
    },
  });
  expect((await runSession(first)).status).toBe('interrupted');
  const outcome = await runSession(await sessionOptions(protocol, plan, record, { resumed: true }));
  expect(outcome).toMatchObject({ status: 'finished', exitCode: 0 });
  const { events } = readJournal(record);
  const decisions = eventsOf(events, 'decision').map(({ decision }) => decision);
  const stops = decisions.filter(({ stop }) => stop);
  expect(decisions[0]?.afterBlock).toBe(2);
  expect(new Set(decisions.map(({ afterBlock }) => afterBlock)).size).toBe(decisions.length);
  // Whatever this machine's noise lets it decide: at most one decision stops, and nothing runs after it.
  expect(stops.length).toBeLessThanOrEqual(1);
  const end = stops[0]?.afterBlock ?? 6;
  expect(Math.max(...eventsOf(events, 'run_start').map(({ block }) => block))).toBe(end);
  expect(outcome.verdict?.runs).toHaveLength(2 * end);
  expect(recomputeVerdict(record)).toEqual(outcome.verdict);
});

test('looks and screening that cannot be are told by line, all at once', () => {
  using folder = temporaryFolder();
  const extra = 'stop: {looks: [3, 2]}\nsweep: {screen: 3}';
  expect(() => fakeProtocol(folder.path, { base: {}, b: { rate: 2 } }, { blocks: 4, extra })).toThrow(
    /sweep is for 3 arms[\s\S]*at least 2 more[\s\S]*looks must rise|looks must rise[\s\S]*sweep is for 3 arms/,
  );
  expect(() =>
    fakeProtocol(folder.path, { base: {}, b: { rate: 2 } }, { blocks: 6, extra: 'stop: {looks: [2, 4]}' }),
  ).toThrow(/the last look must be after all 6 blocks, not 4/);
});
