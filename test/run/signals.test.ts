// SIGTERM in every phase, two Rotas at once, a clock that steps: a Rota of its own process each, over fake engines.

import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readJournal } from '../../src/results/journal.ts';
import { newRunFolder } from '../../src/run/prepare.ts';
import { recomputeVerdict } from '../../src/run/verdict-file.ts';
import { suffering } from '../native/helpers/faults.ts';
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
import { eventsOf, preparedPlan } from './helpers/fake-session.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

beforeAll(buildSession);
afterAll(removeSession);

test.each([
  ['ceiling', 'steady', 0],
  ['launch', 'slow-start', 0],
  ['launch', 'slow-start', 250],
  ['warm-up', 'steady', 0],
  ['measure', 'steady', 0],
  ['stop', 'steady', 0],
  ['launch b', 'steady', 0],
  ['measure b', 'steady', 0],
] as const)(
  'SIGTERM in %s of %s engines, %i ms into it: exit 143, nothing left, resumable',
  async (phase, play, ms) => {
    using prepared = prepare({ a: { play, rate: 300 }, b: { play, rate: 310 } }, 1);
    const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
    await rota.printed(new RegExp(phase));
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    rota.child.kill('SIGTERM');
    expect(await rota.ended).toBe(143);
    expect(enginesOf(prepared.base)).toEqual([]);
    const finished = () =>
      eventsOf(readJournal(prepared.folder).events, 'run_end').filter(({ status }) => status === 'ok');
    const before = finished().map(({ run }) => run);
    await resumeAndCheck(prepared);
    // What was finished before was not run again.
    for (const run of before) expect(finished().filter((end) => end.run === run)).toHaveLength(1);
  },
);

/** Found by the same words on its command line as an engine; it heeds no SIGTERM and has a child of its own. */
const neighbour = (base: string): string =>
  `background: ${JSON.stringify({
    command: [...['sh', '-c', 'trap "" TERM; sleep 300 & while :; do sleep 0.05; done'], `${base}/model`],
    settleS: 0.4,
  })}`;

test.each([
  ['background', 100],
  ['measure', 0],
  ['stop b', 0],
] as const)(
  'SIGTERM in %s, %i ms into it, of a session with a background: it is gone as well, and is there again in a resume',
  async (phase, ms) => {
    using prepared = prepare({ a: { rate: 300 }, b: { rate: 310 } }, 1, neighbour);
    const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
    await rota.printed(new RegExp(phase));
    for (const end = Date.now() + 20_000; enginesOf(prepared.base).length === 0 && Date.now() < end; )
      await new Promise((resolve) => setTimeout(resolve, 5));
    const leash = leashOf(enginesOf(prepared.base)[0] ?? 0);
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    rota.child.kill('SIGTERM');
    expect(await rota.ended).toBe(143);
    expect([enginesOf(prepared.base), leashed(leash)]).toEqual([[], []]);
    const ends = () => eventsOf(readJournal(prepared.folder).events, 'background_end');
    expect(ends()).toMatchObject([{ block: 1, early: false }]);
    await resumeAndCheck(prepared);
    expect(enginesOf(prepared.base)).toEqual([]);
    expect(ends().length).toBeLessThanOrEqual(2);
  },
);

test('kill -9 of a rota leaves no background either', async () => {
  using prepared = prepare({ a: { rate: 300 }, b: { rate: 310 } }, 1, neighbour);
  const rota = startRota({ folder: prepared.folder.path, base: prepared.base, resumed: false });
  await rota.printed(/measure/);
  const leash = leashOf(enginesOf(prepared.base)[0] ?? 0);
  expect(leashed(leash).length).toBeGreaterThanOrEqual(3);
  rota.child.kill('SIGKILL');
  await rota.ended;
  for (const end = Date.now() + 10_000; leashed(leash).length > 0 && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 20));
  expect(leashed(leash)).toEqual([]);
  await resumeAndCheck(prepared);
});

test('of two rotas that start at once on one machine at most one measures, and the other names it', async () => {
  using prepared = prepare({ a: { rate: 300 }, b: { rate: 310 } }, 1);
  const other = newRunFolder(path.join(prepared.base, 'results'), preparedPlan(prepared.protocol));
  const both = [prepared.folder, other].map(({ path: folder }) =>
    startRota({ folder, base: prepared.base, resumed: false }),
  );
  const codes = await Promise.all(both.map(({ ended }) => ended));
  const refused = both.filter((_, i) => codes[i] !== 0);
  // Each looks after it has published itself: both may refuse, never do both go on.
  expect(refused.length).toBeGreaterThanOrEqual(1);
  for (const { output } of refused)
    expect(output()).toMatch(/another rota measures on this machine: pid \d+ since/);
  const journals = [prepared.folder, other].filter(({ journal }) => existsSync(journal));
  expect(journals.length).toBeLessThanOrEqual(1);
  expect(enginesOf(prepared.base)).toEqual([]);
});

test('a wall clock that steps back an hour in mid-run changes no duration; the windows it hit say so', async () => {
  using prepared = prepare({ a: { rate: 60 }, b: { rate: 61 } }, 1);
  const stepped = path.join(prepared.base, 'stepped');
  const rota = startRota(
    { folder: prepared.folder.path, base: prepared.base, resumed: false },
    suffering(['clock', { step: -3600, when: stepped }]),
  );
  await rota.printed(/warm-up/);
  // Into the middle of the next window, which takes a fifth of a second.
  await new Promise((resolve) => setTimeout(resolve, 80));
  writeFileSync(stepped, '');
  expect(await rota.ended).toBe(0);
  const { events } = readJournal(prepared.folder);
  const windows = eventsOf(events, 'window');
  expect(windows.some(({ flags }) => flags.includes('the wall clock stepped'))).toBe(true);
  const utc = events.map((event) => Date.parse(event.utc));
  expect(Math.max(...utc) - (utc.at(-1) ?? 0)).toBeGreaterThan(3_000_000);
  for (const { run } of eventsOf(events, 'run_end')) {
    const ready = eventsOf(events, 'ready').find((event) => event.run === run);
    expect(ready?.loadMs).toBeGreaterThan(0);
    expect(ready?.loadMs).toBeLessThan(60_000);
  }
  expect(recomputeVerdict(prepared.folder).complete).toBe(true);
});
