// A whole session with real processes: what ends up in the record when all goes well.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { stableJson } from '../../src/core/stable-json.ts';
import { startTelemetry } from '../../src/machine/telemetry.ts';
import { readRun } from '../../src/results/read.ts';
import { deriveVerdict, recomputeVerdict } from '../../src/run/verdict-file.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';
import { eventsOf, runFakes } from './helpers/fake-session.ts';

// Starting processes takes many times as long on a machine that compiles beside.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

test('the calibration loop runs before each launch and after each stop, and around no failed run', async () => {
  using folder = temporaryFolder();
  const arms = { base: {}, frail: { play: 'crash-at-load' } };
  const alive: (number | null)[] = [];
  const reading = { arithmeticMs: 10, memoryMs: 5, clockMhz: 1, thermalThrottles: 2, quotaThrottles: 3 };
  let engine: number | null = null;
  const run = await runFakes(folder.path, arms, {
    session: {
      startTelemetry: (options) => {
        const real = startTelemetry(options);
        return {
          ...real,
          watch: (pid) => {
            engine = pid;
            real.watch(pid);
          },
        };
      },
      calibrate: () => {
        alive.push(engine);
        return reading;
      },
    },
  });
  expect(alive.every((pid) => pid === null)).toBe(true);
  const words = run.events.flatMap((event) => {
    if (event.type === 'calibration') return [`${event.when} ${event.run}`];
    if (event.type === 'run_start') return [`start ${event.run}`];
    return event.type === 'run_end' ? [`${event.status} ${event.run}`] : [];
  });
  const good = run.plan.runs.find(({ arm }) => arm === 'base')?.id;
  const bad = run.plan.runs.find(({ arm }) => arm === 'frail')?.id;
  const story = (id: string | undefined) => words.filter((word) => word.endsWith(` ${id}`));
  expect(story(good)).toEqual([`before ${good}`, `start ${good}`, `after ${good}`, `ok ${good}`]);
  const once = [`before ${bad}`, `start ${bad}`, `void ${bad}`];
  expect(story(bad)).toEqual([...once, ...once]);
  expect(eventsOf(run.events, 'calibration')[0]).toMatchObject(reading);
  expect(run.verdict.calibration).toMatchObject({ runs: 1 });
});

test('two arms on a scripted clock: rates to within 0.1 %, same output seen as the same, a change as a change', async () => {
  using folder = temporaryFolder();
  const arms = { base: { rate: 1000 }, fast: { rate: 1500 }, other: { rate: 1000, shift: 1 } };
  const run = await runFakes(folder.path, arms, { blocks: 2 });
  const { verdict, events, plan } = run;
  expect(verdict.exitCode).toBe(0);
  expect(verdict.complete).toBe(true);
  expect(verdict.runs.map(({ id }) => id)).toEqual(plan.runs.map(({ id }) => id));
  for (const row of verdict.arms) {
    const rate = row.arm === 'fast' ? 1500 : 1000;
    expect(Math.abs((row.tokPerSec ?? 0) / rate - 1)).toBeLessThan(0.001);
    expect(row.output).toBe(row.arm === 'other' ? 'L3' : 'L0');
    expect(row.blocks).toBe(2);
  }
  expect(
    eventsOf(events, 'run_end').map(({ status, exit, memoryReleased }) => [status, exit, memoryReleased]),
  ).toEqual(plan.runs.map(() => ['ok', 0, true]));
  expect(eventsOf(events, 'session')).toMatchObject([{ resumed: false, machine: { node: process.version } }]);
  expect(
    eventsOf(events, 'ceiling').map(({ when, memoryReadBytesPerSec }) => [when, memoryReadBytesPerSec]),
  ).toEqual([
    ['before', null],
    ['after', null],
  ]);
  // The verdict follows from the record, byte for byte, and is what was written.
  expect(stableJson(deriveVerdict(run.folder))).toBe(readFileSync(run.folder.verdict, 'utf8'));
  expect(recomputeVerdict(run.folder)).toEqual(verdict);
  expect(readdirSync(run.folder.logs).sort()).toEqual(plan.runs.map(({ id }) => `${id}.1.log`).sort());
  expect(existsSync(run.folder.telemetry)).toBe(true);
});

test('in a run: warm-up, reset, one prime prompt a class, then the prompts of the block in one order for all arms', async () => {
  using folder = temporaryFolder();
  const { events, plan } = await runFakes(folder.path, { a: {}, b: { rate: 1900 } }, { blocks: 2 });
  const windows = eventsOf(events, 'window');
  const measured = (run: string) =>
    windows
      .filter((window) => window.run === run && window.kind === 'measure')
      .map((w) => `${w.class} ${w.prompt}`);
  for (const block of [1, 2]) {
    const [first, second] = plan.runs.filter((run) => run.block === block).map((run) => measured(run.id));
    expect(first).toEqual(second);
    expect(first?.map((text) => text.split(' ')[0]).sort()).toEqual(['code', 'prose']);
  }
  const prompts = plan.workloads.flatMap((workload) =>
    workload.promptsByBlock.map(([prompt]) => prompt?.text),
  );
  expect(new Set(prompts).size).toBe(4);
  for (const run of plan.runs) {
    const kinds = windows.filter((window) => window.run === run.id).map((window) => window.kind);
    expect(kinds.join(' ')).toMatch(/^(warmup ){5,6}prime prime measure measure arbitrate arbitrate$/);
  }
  for (const { reason, steady } of eventsOf(events, 'warmup_end')) {
    expect(steady).toBe(true);
    expect(reason).not.toContain('reset');
  }
});

test('everything a watcher is told lies between windows, and the runs are counted to the end', async () => {
  using folder = temporaryFolder();
  const { progress, plan } = await runFakes(folder.path, { a: {}, b: { rate: 1900 } });
  expect(progress[0]?.phase).toBe('ceiling');
  expect(progress.at(-1)).toMatchObject({
    runsDone: plan.runs.length,
    runsPlanned: plan.runs.length,
    etaSeconds: 0,
  });
  const phases = progress
    .filter(({ arm, phase }) => arm === 'a' && phase !== 'ceiling')
    .map(({ phase }) => phase);
  expect(phases.join(' ')).toMatch(/^launch (warm-up )+measure measure arbitrate stop$/);
  const rates = progress
    .filter(({ phase, arm }) => phase === 'measure' && arm === 'a')
    .map(({ tokPerSec }) => tokPerSec);
  for (const rate of rates) expect(rate).toBeCloseTo(2000, 6);
});

test('a window says what it measured, on which load, and Rota costs little', async () => {
  using folder = temporaryFolder();
  const { events, folder: run } = await runFakes(
    folder.path,
    { a: { rate: 55 }, b: { rate: 56 } },
    {
      extra: 'guards: {foreignCpuShare: 1}',
    },
  );
  const window = eventsOf(events, 'window').find(({ kind }) => kind === 'measure');
  expect(window?.flags).toEqual([]);
  expect(window?.wallMs).toBeGreaterThanOrEqual(195);
  expect(window?.load.threadCpuShare).toHaveProperty('node');
  expect(window?.load.rotaCpuShare).toBeLessThan(0.2);
  expect(window?.idsSha256).toMatch(/^[0-9a-f]{64}$/);
  expect(readRun(run).journal.tornBytes).toBe(0);
});

test('an engine without reset keeps what its warm-up left, and the record says so', async () => {
  using folder = temporaryFolder();
  const { events } = await runFakes(folder.path, {
    a: { play: 'no-reset' },
    b: { play: 'no-reset', rate: 1900 },
  });
  for (const { reason } of eventsOf(events, 'warmup_end')) {
    expect(reason).toContain('caches as the warm-up left them: the engine knows no reset');
  }
});

test('an engine that never becomes steady is measured at the cap and shown as not steady', async () => {
  using folder = temporaryFolder();
  const { events, verdict } = await runFakes(folder.path, { a: {}, b: { play: 'drifting' } });
  expect(
    eventsOf(events, 'warmup_end')
      .map(({ run, steady }) => [run.slice(-1), steady])
      .sort(),
  ).toEqual([
    ['a', true],
    ['b', false],
  ]);
  expect(
    verdict.warnings.some((warning) => warning.startsWith('not steady when measured in 1 of 2 runs')),
  ).toBe(true);
});

test('an arm that samples otherwise is asked so, in every window, and is never the same output', async () => {
  using folder = temporaryFolder();
  const override = { sampling: { temperature: 0.5, seed: 7 } };
  const play = 'echoes-sampling';
  const arms = { base: { play }, warm: { play, override }, same: { play, rate: 1900 } };
  const { events, verdict, plan } = await runFakes(folder.path, arms);
  const digests = new Map<string, string[]>();
  for (const { run, kind, prompt, result, idsSha256 } of eventsOf(events, 'window')) {
    // Of what is only warmed up by, the record has the digest.
    if (kind === 'measure' || kind === 'arbitrate') {
      expect(result.ids?.[0]).toBe(run.endsWith('.warm') ? 50 + 10 + 7 : 0 + 10 + 1);
    } else {
      expect([result.ids, result.text, result.passMs, result.raw]).toEqual([null, null, null, null]);
      const key = `${kind} ${prompt} ${run.slice(run.lastIndexOf('.') + 1)}`;
      digests.set(key, [...(digests.get(key) ?? []), idsSha256 ?? 'none']);
    }
  }
  expect(digests.size).toBeGreaterThan(3);
  for (const [key, seen] of digests) {
    expect(new Set(seen).size).toBe(1);
    const other = digests.get(key.replace(/warm$/, 'base'));
    if (key.endsWith('warm')) expect(other).not.toContain(seen[0]);
    if (key.endsWith('same')) expect(digests.get(key.replace(/same$/, 'base'))).toContain(seen[0]);
  }
  expect(plan.arms[1]?.sampling).toEqual({ temperature: 0.5, topP: 1, seed: 7 });
  const output = (arm: string) => verdict.arms.find((row) => row.arm === arm)?.output;
  expect([output('warm'), output('same')]).toEqual(['LX', 'L0']);
});
