// The sampler: what it says of a window, where its samples go, and when it writes.

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/machine/clock.ts';
import { startGpuMonitor } from '../../src/machine/gpu-monitor.ts';
import { startTelemetry } from '../../src/machine/telemetry.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

const FAKE_SMI = fileURLToPath(new URL('../fixtures/nvidia-smi/fake-nvidia-smi.mjs', import.meta.url));
const monotonicMs = (): number => systemClock.monotonicMs();

test('without a GPU tool there is no monitor, and windows say null for GPUs', async () => {
  expect(await startGpuMonitor({ monotonicMs, periodMs: 50, command: '/no/such/nvidia-smi' })).toBeNull();
});

test('a window is summed up at its end, and only then may the file be written', async () => {
  using folder = temporaryFolder();
  const file = path.join(folder.path, 'telemetry.jsonl');
  await using telemetry = startTelemetry({ clock: systemClock, periodMs: 50, file, gpus: null });
  telemetry.watch(process.pid);
  const window = telemetry.openWindow({ run: 'b1.p1.base', window: 'measure code p01' });
  expect(() => telemetry.openWindow({ run: 'x', window: 'y' })).toThrow('opened inside another one');
  await systemClock.sleep(400);
  telemetry.flush();
  expect(existsSync(file)).toBe(false);
  const load = window.close();
  expect(load.gpus).toBeNull();
  expect(load.ownCpuShare).toBeGreaterThanOrEqual(0);
  expect(load.rotaCpuShare).toBeLessThan(1);
  expect(load.memAvailableBytes).toBeGreaterThan(0);
  telemetry.flush();
  const rows = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows.length).toBeGreaterThanOrEqual(4);
  expect(rows[0]).toMatchObject({ run: 'b1.p1.base', window: 'measure code p01' });
  expect(rows.at(-1).sum).toEqual(load);
  for (const [a, b] of rows.slice(1).map((row, i) => [rows[i].t, row.t])) expect(b).toBeGreaterThanOrEqual(a);
});

test.each([
  [String(process.pid), 874, 0],
  ['1', 0, 874],
  ['[N/A]', null, null],
])('GPU memory of pid %s is told apart', async (pid, ownMib, foreignMib) => {
  using folder = temporaryFolder();
  const gpus = await startGpuMonitor({
    monotonicMs,
    periodMs: 50,
    command: FAKE_SMI,
    env: { FAKE_GPU_PID: pid },
  });
  if (gpus === null) throw new Error('the fake card was not seen');
  const file = path.join(folder.path, 't.jsonl');
  await using telemetry = startTelemetry({ clock: systemClock, periodMs: 100, file, gpus });
  telemetry.watch(process.pid);
  const begin = systemClock.monotonicMs();
  while ((gpus.samples.length === 0 || gpus.apps?.length === 0) && systemClock.monotonicMs() - begin < 5000) {
    await systemClock.sleep(20);
  }
  const window = telemetry.openWindow({ run: 'r', window: 'w' });
  await systemClock.sleep(200);
  const mib = (value: number | null): number | null => (value === null ? null : value * 1024 ** 2);
  expect(window.close().gpus).toEqual([
    {
      uuid: 'GPU-380f0678-861d-4993-96cb-2f1e8c42ffa9',
      utilizationPercent: 97,
      ownMemoryBytes: mib(ownMib),
      foreignMemoryBytes: mib(foreignMib),
      smClockMhz: 1425,
      powerWatts: 690.5,
      temperatureC: null,
      throttles: ['power cap'],
    },
  ]);
});

test('a monitor whose tool died knows nothing any more', async () => {
  const gpus = await startGpuMonitor({ monotonicMs, periodMs: 50, command: FAKE_SMI });
  if (gpus === null) throw new Error('the fake card was not seen');
  expect(gpus.pids).toHaveLength(2);
  await gpus[Symbol.asyncDispose]();
  expect(gpus.alive).toBe(false);
  expect(gpus.apps).toBeNull();
});
