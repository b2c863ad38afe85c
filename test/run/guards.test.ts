// What a protocol wants done when others disturb a run, through the real runner with a scripted load: flag, repeat, or stop.

import { spawn } from 'node:child_process';
import { expect, test, vi } from 'vitest';
import type { JournalEvent } from '../../src/core/records/journal.ts';
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

/** Started runs in order, with the number of the attempt, and how each ended. */
const story = (run: { readonly events: readonly JournalEvent[] }): string[] => {
  const ends = eventsOf(run.events, 'run_end');
  return eventsOf(run.events, 'run_start').map(({ run: id, attempt }, index) => {
    const end = ends[index];
    return `${id} ${attempt} ${end?.tripped === undefined ? end?.status : 'spoilt'}`;
  });
};

test.each([0, 1, 2])(
  'rerun: a block is measured again whole when its run %i is disturbed, whichever arm that is; all stay on file',
  async (place) => {
    using folder = temporaryFolder();
    const arms = { base: {}, fast: { rate: 3000 }, other: { shift: 1 } };
    const protocol = fakeProtocol(folder.path, arms, { extra: guards('rerun'), blocks: 2 });
    const plan = preparedPlan(protocol);
    const record = newRunFolder(`${folder.path}/results`, plan);
    const disturbed = plan.runs[place]?.id;
    const startTelemetry = loadOf((run, attempt) => (run === disturbed && attempt === 1 ? 0.5 : 0.01));
    const notes: string[] = [];
    const left: number[] = [];
    const outcome = await runSession(
      await sessionOptions(protocol, plan, record, {
        startTelemetry,
        onProgress: ({ note, runsDone }) => {
          if (note !== null) notes.push(note);
          left.push(runsDone);
        },
      }),
    );
    const { events } = readJournal(record);
    const [a, b, c, ...second] = plan.runs.map(({ id }) => id);
    const first = [a, b, c].slice(0, place + 1);
    expect(story({ events })).toEqual([
      ...first.map((id) => `${id} 1 ${id === disturbed ? 'spoilt' : 'ok'}`),
      // Whole and in the planned order, also the runs that had ended well.
      ...[a, b, c].map((id) => `${id} ${first.includes(id) ? 2 : 1} ok`),
      ...second.map((id) => `${id} 1 ok`),
    ]);
    expect(eventsOf(events, 'block_spoilt')).toMatchObject([
      {
        block: 1,
        try: 1,
        run: disturbed,
        reason: expect.stringMatching(/^other programs used 50 % .* in \w+ p0\d$/),
      },
    ]);
    const verdict = outcome.verdict;
    expect(verdict?.executed).toEqual(plan.runs.map(({ id }) => id));
    expect(verdict?.foreignLoad).toMatchObject({
      spoilt: [{ block: 1, try: 1, run: disturbed }],
      disturbed: [],
    });
    expect(verdict?.warnings.join('\n')).toMatch(
      /^1 try of blocks spoilt by others, measured again and not counted: b1/m,
    );
    expect(verdict?.warnings.join('\n')).not.toContain('could not be avoided');
    expect(notes).toEqual([
      expect.stringMatching(`^${disturbed} was disturbed: other programs used 50 %`),
      'block 1 is measured again, whole',
    ]);
    expect(Math.max(...left)).toBe(6);
    expect(recomputeVerdict(record)).toEqual(verdict);
    // A disturbed run ends at its first window that shows it; what was measured stays on file.
    const windows = eventsOf(events, 'window').filter(({ kind, run }) => kind === 'measure' && run === a);
    expect(windows.length).toBe(place === 0 ? 3 : 4);
  },
);

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

test('rerun: after three repeats, counted over sessions, a block is kept and the verdict names its load', async () => {
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
  const { events } = readJournal(record);
  const [a, b] = plan.runs.map(({ id }) => id);
  expect(eventsOf(events, 'block_spoilt').map((event) => [event.try, event.run])).toEqual([
    [1, a],
    [2, a],
    [3, a],
  ]);
  const ends = eventsOf(events, 'run_end').map(({ run, status }) => `${run} ${status}`);
  expect(ends.filter((end) => end.endsWith('ok'))).toEqual([`${a} ok`, `${b} ok`]);
  const { verdict } = outcome;
  expect(verdict?.complete).toBe(true);
  expect(verdict?.foreignLoad?.spoilt).toHaveLength(3);
  expect(verdict?.foreignLoad?.disturbed).toMatchObject([{ block: 1, tries: 4 }]);
  const warnings = verdict?.warnings.join('\n');
  expect(warnings).toContain('in 4 of 4 windows');
  expect(warnings).toMatch(/^block 1 was measured beside .*, 4 tries: the load could not be avoided$/m);
  expect(verdict?.arms[1]?.line).toMatch(/; measured beside .* in 1 of 1 block$/);
});

test('rerun: maxReruns asks for fewer repeats', async () => {
  using folder = temporaryFolder();
  const extra = 'guards: {foreignCpuShare: 0.2, onTrip: rerun, maxReruns: 1}';
  const session = { startTelemetry: loadOf(() => 0.5) };
  const run = await runFakes(folder.path, { base: {}, fast: { rate: 3000 } }, { extra, session });
  expect(eventsOf(run.events, 'block_spoilt')).toHaveLength(1);
  expect(run.verdict.foreignLoad?.disturbed).toMatchObject([{ block: 1, tries: 2 }]);
});

test('rerun: a block that is resumed after it was spoilt is measured whole, though runs of it had ended well', async () => {
  using folder = temporaryFolder();
  const protocol = fakeProtocol(folder.path, { base: {}, fast: { rate: 3000 } }, { extra: guards('rerun') });
  const plan = preparedPlan(protocol);
  const record = newRunFolder(`${folder.path}/results`, plan);
  const [a, b] = plan.runs.map(({ id }) => id);
  let launches = 0;
  const first = await sessionOptions(protocol, plan, record, {
    startTelemetry: loadOf((run) => (run === b ? 0.5 : 0)),
    onProgress: ({ phase }) => {
      if (phase === 'launch' && ++launches === 3) process.emit('SIGINT', 'SIGINT');
    },
  });
  expect((await runSession(first)).status).toBe('interrupted');
  const notices: string[] = [];
  const second = {
    resumed: true,
    startTelemetry: loadOf(() => 0),
    onNotice: (text: string) => notices.push(text),
  };
  const outcome = await runSession(await sessionOptions(protocol, plan, record, second));
  expect(notices).toContain('2 of 2 runs are left');
  expect(outcome.verdict?.executed).toEqual([a, b]);
  expect(story(readJournal(record))).toEqual([
    `${a} 1 ok`,
    `${b} 1 spoilt`,
    `${a} 2 void`,
    `${a} 3 ok`,
    `${b} 2 ok`,
  ]);
  expect(recomputeVerdict(record)).toEqual(outcome.verdict);
});

test('a neighbour that really burns a core is found, spoils what it can, and is named', async () => {
  using folder = temporaryFolder();
  const burn = "process.title = 'neighbour'; for (;;);";
  const neighbour = spawn(process.execPath, ['-e', burn], { stdio: 'ignore' });
  try {
    const extra = 'guards: {foreignCpuShare: 0.05, onTrip: rerun, maxReruns: 1}';
    // Windows of a fifth of a second: long enough for the ticks of the kernel.
    const run = await runFakes(folder.path, { base: { rate: 60 }, fast: { rate: 61 } }, { extra });
    expect(eventsOf(run.events, 'block_spoilt')).toHaveLength(1);
    const [block] = run.verdict.foreignLoad?.disturbed ?? [];
    expect(block).toMatchObject({ block: 1, tries: 2 });
    // Whoever else is busy here: it shares the cores and so got a part of one.
    expect(block?.foreignCores).toBeGreaterThan(0.1);
    const seen = eventsOf(run.events, 'window').flatMap(({ load }) => load.foreignPrograms ?? []);
    expect(seen.map(({ name }) => name)).toContain('neighbour');
  } finally {
    neighbour.kill('SIGKILL');
  }
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
