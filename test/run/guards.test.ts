// What a protocol wants done when others disturb a run, through the real runner with a scripted load: flag, repeat, or stop.

import { expect, test, vi } from 'vitest';
import { startTelemetry } from '../../src/machine/telemetry.ts';
import { readJournal } from '../../src/results/journal.ts';
import { newRunFolder } from '../../src/run/prepare.ts';
import { runSession } from '../../src/run/session.ts';
import { recomputeVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { eventsOf, fakeProtocol, preparedPlan, runFakes, sessionOptions } from './helpers/fake-session.ts';

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

/** The real sampler, but the load of others is what the script says of a run's attempt. */
function loadOf(script: (run: string, attempt: number) => number): typeof startTelemetry {
  return (options) => {
    const real = startTelemetry(options);
    const attempts = new Map<string, number>();
    let last = '';
    return {
      ...real,
      openWindow(label) {
        // Every attempt begins with warm-up windows, and no other run comes between the windows of one.
        if (label.window.startsWith('warmup') && last.startsWith(`${label.run} measure`)) last = '';
        if (!last.startsWith(`${label.run} `)) attempts.set(label.run, (attempts.get(label.run) ?? 0) + 1);
        last = `${label.run} ${label.window}`;
        const open = real.openWindow(label);
        const foreignCpuShare = script(label.run, attempts.get(label.run) ?? 0);
        return { close: () => ({ ...open.close(), foreignCpuShare }) };
      },
    };
  };
}

const guards = (onTrip: string): string => `guards: {foreignCpuShare: 0.2, onTrip: ${onTrip}}`;

test('flag: a disturbed run is kept, and its windows say so', async () => {
  using folder = temporaryFolder();
  const session = { startTelemetry: loadOf(() => 0.5) };
  const run = await runFakes(
    folder.path,
    { base: {}, fast: { rate: 3000 } },
    { extra: guards('flag'), session },
  );
  expect(eventsOf(run.events, 'run_start')).toHaveLength(2);
  for (const window of eventsOf(run.events, 'window')) expect(window.flags).toContain('foreign CPU load');
  expect(run.verdict.complete).toBe(true);
  expect(run.verdict.warnings.join('\n')).toContain('in 4 of 4 windows, at most 50 %');
});

test('rerun: a run is repeated until it is quiet, whichever arm it is; all stay on file and the quiet one counts', async () => {
  using folder = temporaryFolder();
  // Load goes away after the first attempt at anything: a guard that saw arms or rates would treat them differently.
  const session = { startTelemetry: loadOf((_, attempt) => (attempt < 2 ? 0.5 : 0.01)) };
  const arms = { base: {}, fast: { rate: 3000 }, other: { shift: 1 } };
  const run = await runFakes(folder.path, arms, { extra: guards('rerun'), session });
  for (const { id } of run.plan.runs) {
    const ends = eventsOf(run.events, 'run_end').filter((end) => end.run === id);
    expect(ends.map(({ status, tripped }) => [status, tripped?.replace(/ in \w+ p\d\d$/, '')])).toEqual([
      ['void', 'other programs used 50 % of all cores (limit 20 %)'],
      ['ok', undefined],
    ]);
    expect(ends[0]?.reason).toMatch(/^the guard tripped: other programs used 50 % .* in (code|prose) p0\d$/);
    // The disturbed attempt ends at the first window that shows it.
    const measured = eventsOf(run.events, 'window').filter((w) => w.run === id && w.kind === 'measure');
    expect(measured.map(({ flags }) => flags.length)).toEqual([1, 0, 0]);
  }
  expect(run.verdict.complete).toBe(true);
  expect(run.verdict.warnings.join('\n')).not.toContain('other programs');
  const notes = run.progress.flatMap(({ note }) => note ?? []);
  expect(notes.filter((note) => note.includes('was disturbed'))).toHaveLength(3);
});

test('rerun: a disturbed run has not failed: when it then fails once it is repeated as any other', async () => {
  using folder = temporaryFolder();
  const session = { startTelemetry: loadOf((_, attempt) => (attempt < 2 ? 0.5 : 0.01)) };
  const arms = { base: {}, frail: { play: 'crash-second' } };
  const run = await runFakes(folder.path, arms, { extra: guards('rerun'), session });
  const ends = eventsOf(run.events, 'run_end').filter((end) => end.run.endsWith('.frail'));
  expect(ends.map(({ status, tripped }) => [status, tripped !== undefined])).toEqual([
    ['void', true],
    ['void', false],
    ['ok', false],
  ]);
});

test('rerun: after three repeats, counted over sessions, a run is kept with its flags', async () => {
  using folder = temporaryFolder();
  const protocol = fakeProtocol(folder.path, { base: {}, fast: { rate: 3000 } }, { extra: guards('rerun') });
  const plan = preparedPlan(protocol);
  const record = newRunFolder(`${folder.path}/results`, plan);
  const load = loadOf(() => 0.5);
  let launches = 0;
  // The first session is interrupted when it repeats the first run.
  const first = await sessionOptions(protocol, plan, record, {
    startTelemetry: load,
    onProgress: ({ phase }) => {
      if (phase === 'launch' && ++launches === 3) process.emit('SIGINT', 'SIGINT');
    },
  });
  expect((await runSession(first)).status).toBe('interrupted');
  const second = { resumed: true, startTelemetry: load };
  const outcome = await runSession(await sessionOptions(protocol, plan, record, second));
  for (const { id } of plan.runs) {
    const ends = eventsOf(readJournal(record).events, 'run_end').filter((end) => end.run === id);
    expect(ends.filter(({ tripped }) => tripped !== undefined)).toHaveLength(3);
    expect(ends.at(-1)?.status).toBe('ok');
  }
  expect(outcome.verdict?.complete).toBe(true);
  expect(outcome.verdict?.warnings.join('\n')).toContain('in 4 of 4 windows');
});

test('abort: the session ends with what it has, and a resume goes on', async () => {
  using folder = temporaryFolder();
  const protocol = fakeProtocol(folder.path, { base: {}, fast: { rate: 3000 } }, { extra: guards('abort') });
  const plan = preparedPlan(protocol);
  const record = newRunFolder(`${folder.path}/results`, plan);
  const second = plan.runs[1]?.id ?? '';
  const disturbed = { startTelemetry: loadOf((run) => (run === second ? 0.5 : 0)) };
  const outcome = await runSession(await sessionOptions(protocol, plan, record, disturbed));
  expect(outcome).toMatchObject({ status: 'aborted', exitCode: 3, verdict: null });
  expect(outcome.reason).toMatch(new RegExp(`^other programs used 50 % .* of ${second}$`));
  expect(readJournal(record).events.at(-1)).toMatchObject({ type: 'aborted', reason: outcome.reason });
  const quiet = { resumed: true, startTelemetry: loadOf(() => 0) };
  const resumed = await runSession(await sessionOptions(protocol, plan, record, quiet));
  expect(resumed).toMatchObject({ status: 'finished', exitCode: 0 });
  const starts = eventsOf(readJournal(record).events, 'run_start').map(({ run }) => run);
  expect(starts).toEqual([plan.runs[0]?.id, second, second]);
  expect(recomputeVerdict(record)).toEqual(resumed.verdict);
});
