// Ctrl-C and sudden death: what was measured stays, no engine is left, and a resume finishes with every run there once.

import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readJournal } from '../../src/results/journal.ts';
import { runSession } from '../../src/run/session.ts';
import { recomputeVerdict } from '../../src/run/verdict-file.ts';
import { altered } from '../results/altered.ts';
import {
  buildSession,
  enginesOf,
  leashed,
  leashOf,
  prepare,
  removeSession,
  resumeAndCheck,
  startRota,
} from './helpers/child-rota.ts';
import { eventsOf, preparedPlan, sessionOptions } from './helpers/fake-session.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

beforeAll(buildSession);
afterAll(removeSession);

test.each(['stubborn', 'grandchildren'])(
  'kill -9 of rota in mid-run leaves no %s engine, and resume finishes',
  async (play) => {
    using prepared = prepare({ a: { play, rate: 200 }, b: { play, rate: 190 } }, 2);
    const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
    await rota.printed(/measure \w 1/);
    const [engine] = enginesOf(prepared.base);
    if (engine === undefined) throw new Error('no engine runs');
    const leash = leashOf(engine);
    expect(leashed(leash).length).toBe(play === 'grandchildren' ? 3 : 1);
    rota.child.kill('SIGKILL');
    expect(await rota.ended).toBe('SIGKILL');
    const begin = Date.now();
    while (leashed(leash).length > 0 && Date.now() - begin < 5000)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(leashed(leash)).toEqual([]);
    expect(enginesOf(prepared.base)).toEqual([]);
    // The write that the kill cut short.
    appendFileSync(prepared.folder.journal, '{"type":"window","utc":"2026');
    const before = eventsOf(readJournal(prepared.folder).events, 'run_end').length;
    await resumeAndCheck(prepared);
    const { events } = readJournal(prepared.folder);
    expect(readFileSync(prepared.folder.torn, 'utf8')).toBe('{"type":"window","utc":"2026');
    expect(eventsOf(events, 'session')[1]?.tornBytes).toBe(28);
    // No finished run was run again, and the unfinished one was repeated whole.
    expect(before).toBe(1);
    expect(eventsOf(events, 'run_start').map(({ attempt }) => attempt)).toEqual([1, 1, 2, 1, 1]);
  },
);

test('a rota that was killed is resumed by a process of its own just as well', async () => {
  using prepared = prepare({ a: { rate: 200 }, b: { rate: 190 } }, 1);
  const first = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
  await first.printed(/warm-up/);
  first.child.kill('SIGKILL');
  await first.ended;
  const second = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: true });
  expect(await second.ended).toBe(0);
  expect(recomputeVerdict(prepared.folder).complete).toBe(true);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s stops the engine cleanly, is recorded, and can be resumed', async (signal, code) => {
  using prepared = prepare({ a: { rate: 100 }, b: { rate: 110 } }, 1);
  const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
  await rota.printed(/measure/);
  rota.child.kill(signal);
  expect(await rota.ended).toBe(code);
  expect(enginesOf(prepared.base)).toEqual([]);
  const { events } = readJournal(prepared.folder);
  expect(eventsOf(events, 'interrupted')).toMatchObject([{ signal }]);
  expect(eventsOf(events, 'run_end').at(-1)).toMatchObject({
    status: 'void',
    reason: `interrupted by ${signal}`,
    exit: 0,
  });
  expect(existsSync(prepared.folder.verdict)).toBe(false);
  expect(readdirSync(prepared.base).filter((name) => name.endsWith('.lock'))).toEqual([]);
  await resumeAndCheck(prepared);
});

test('a second Ctrl-C does not wait for an engine that will not go', async () => {
  using prepared = prepare({ a: { play: 'stubborn', rate: 5 }, b: { play: 'stubborn', rate: 6 } }, 1);
  const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
  await rota.printed(/launch/);
  await new Promise((resolve) => setTimeout(resolve, 300));
  rota.child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 50));
  const begin = Date.now();
  rota.child.kill('SIGINT');
  expect(await rota.ended).toBe(130);
  expect(Date.now() - begin).toBeLessThan(1000);
  while (enginesOf(prepared.base).length > 0 && Date.now() - begin < 5000) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(enginesOf(prepared.base)).toEqual([]);
});

test('a finished run that is resumed runs nothing again; one that was altered is refused', async () => {
  using prepared = prepare({ a: {}, b: { rate: 1900 } }, 1);
  const plan = preparedPlan(prepared.protocol);
  const options = await sessionOptions(prepared.protocol, plan, prepared.folder);
  await runSession(options);
  await runSession({ ...options, resumed: true });
  expect(eventsOf(readJournal(prepared.folder).events, 'run_start')).toHaveLength(2);
  using _ = altered(prepared.folder.journal, (text) => text.replace('"tokens":12', '"tokens":13'));
  await expect(runSession({ ...options, resumed: true })).rejects.toThrow(
    'the record was altered after it was written',
  );
});
