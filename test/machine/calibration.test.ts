// The loop that tells what the machine itself can do: the same work each time, and what the kernel says of its clock and heat.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createCalibrator } from '../../src/machine/calibration.ts';
import { readThrottling } from '../../src/machine/throttling.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

test('the fastest of nine repeats is told, of each part', () => {
  // Each repeat reads the clock twice; the third of the arithmetic and the last of the copies are the fastest.
  const lengths = [9, 8, 4, 7, 7, 7, 7, 7, 7, 30, 30, 30, 30, 30, 30, 30, 30, 21];
  let t = 0;
  let reads = 0;
  const nowMs = (): number => {
    if (reads % 2 === 1) t += lengths[(reads - 1) / 2] ?? 0;
    reads += 1;
    return t;
  };
  const calibrate = createCalibrator(nowMs, { steps: 10, copiedBytes: 64 });
  expect(calibrate()).toMatchObject({ arithmeticMs: 4, memoryMs: 21 });
  expect(reads).toBe(2 * lengths.length);
});

test('twice the work takes about twice as long: it is done, and nothing else is timed', () => {
  // By the time that this process had of a processor: a busy machine makes others wait, not work more.
  const nowMs = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  // Copies so large that both pass the caches by: below some size a byte takes longer where they are written through.
  const [once, twice] = [1, 2].map((factor) =>
    createCalibrator(nowMs, { steps: factor * 500_000, copiedBytes: factor * 32 * 1024 ** 2 }),
  );
  // Others share the caches, and may spoil one reading: of several, the fastest of each.
  const readings = Array.from({ length: 6 }, () => [once?.(), twice?.()]);
  const least = (of: 'arithmeticMs' | 'memoryMs', index: 0 | 1): number =>
    Math.min(...readings.map((pair) => pair[index]?.[of] ?? Number.NaN));
  for (const of of ['arithmeticMs', 'memoryMs'] as const) {
    expect(least(of, 0)).toBeGreaterThan(0.1);
    expect(least(of, 1) / least(of, 0)).toBeGreaterThan(1.4);
    expect(least(of, 1) / least(of, 0)).toBeLessThan(3);
  }
});

function write(root: string, file: string, text: string): void {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
}

test('clocks are averaged; heat is counted over cores; the quota over a group and all above it', () => {
  using folder = temporaryFolder();
  const root = folder.path;
  for (const [cpu, khz, core] of [
    ['cpu0', 2_000_000, 3],
    ['cpu1', 3_000_000, 4],
  ] as const) {
    write(root, `sys/devices/system/cpu/${cpu}/cpufreq/scaling_cur_freq`, `${khz}\n`);
    write(root, `sys/devices/system/cpu/${cpu}/thermal_throttle/core_throttle_count`, `${core}\n`);
    write(root, `sys/devices/system/cpu/${cpu}/thermal_throttle/package_throttle_count`, '10\n');
  }
  write(root, 'sys/devices/system/cpu/cpuidle/scaling_cur_freq', '9\n');
  write(root, 'proc/self/cgroup', '0::/user.slice/job\n');
  write(root, 'sys/fs/cgroup/user.slice/job/cpu.stat', 'usage_usec 9\nnr_periods 8\nnr_throttled 5\n');
  write(root, 'sys/fs/cgroup/user.slice/cpu.stat', 'nr_throttled 2\n');
  expect(readThrottling(root)).toEqual({ clockMhz: 2500, thermalThrottles: 27, quotaThrottles: 7 });
});

test('the first version of control groups; and a machine that tells nothing', () => {
  using folder = temporaryFolder();
  expect(readThrottling(folder.path)).toEqual({
    clockMhz: null,
    thermalThrottles: null,
    quotaThrottles: null,
  });
  write(folder.path, 'proc/self/cgroup', '4:memory:/a\n3:cpu,cpuacct:/a\n');
  write(folder.path, 'sys/fs/cgroup/cpu/a/cpu.stat', 'nr_periods 4\nnr_throttled 3\nthrottled_time 1\n');
  write(folder.path, 'sys/fs/cgroup/a/cpu.stat', 'nr_throttled 99\n');
  expect(readThrottling(folder.path).quotaThrottles).toBe(3);
});
