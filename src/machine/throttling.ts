// Owns what the kernel tells of a processor that is held back: its clock, heat, and the quota of the control group. Reads files only.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { CalibrationReading } from '../core/records/journal.ts';
import { mean, sum } from '../core/stats/sums.ts';

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function numbersIn(folders: readonly string[], file: string): number[] {
  return folders.flatMap((folder) => {
    const text = readOrNull(path.join(folder, file));
    const value = text === null ? Number.NaN : Number(text.trim());
    return Number.isFinite(value) ? [value] : [];
  });
}

function cpuFolders(root: string): string[] {
  const folder = path.join(root, 'sys/devices/system/cpu');
  try {
    return readdirSync(folder)
      .filter((name) => /^cpu\d+$/.test(name))
      .map((name) => path.join(folder, name));
  } catch {
    return [];
  }
}

/** A package counts on each of its cores: what matters is only whether the sum moves. */
function thermalThrottles(cpus: readonly string[]): number | null {
  const counts = ['core_throttle_count', 'package_throttle_count'].flatMap((file) =>
    numbersIn(cpus, `thermal_throttle/${file}`),
  );
  return counts.length === 0 ? null : sum(counts);
}

/** Of the group that Rota is in and of every one above it: the engine it starts is in the same. */
function quotaThrottles(root: string): number | null {
  const own = readOrNull(path.join(root, 'proc/self/cgroup')) ?? '';
  const counts = own.split('\n').flatMap((line) => {
    const [, controllers = 'none', ...rest] = line.split(':');
    const isV1 = controllers.split(',').includes('cpu');
    if (controllers !== '' && !isV1) return [];
    const mount = path.join(root, 'sys/fs/cgroup', isV1 ? 'cpu' : '');
    const parts = rest
      .join(':')
      .split('/')
      .filter((part) => part !== '' && part !== '..');
    const folders = ['', ...parts.map((_, i) => parts.slice(0, i + 1).join('/'))];
    return folders.flatMap((folder) => {
      const text = readOrNull(path.join(mount, folder, 'cpu.stat')) ?? '';
      const found = /^nr_throttled (\d+)$/m.exec(text)?.[1];
      return found === undefined ? [] : [Number(found)];
    });
  });
  return counts.length === 0 ? null : sum(counts);
}

type Throttling = Pick<CalibrationReading, 'clockMhz' | 'thermalThrottles' | 'quotaThrottles'>;

/** @param root where proc and sys are */
export function readThrottling(root = '/'): Throttling {
  const cpus = cpuFolders(root);
  const clocks = numbersIn(cpus, 'cpufreq/scaling_cur_freq');
  return {
    clockMhz: clocks.length === 0 ? null : mean(clocks) / 1000,
    thermalThrottles: thermalThrottles(cpus),
    quotaThrottles: quotaThrottles(root),
  };
}
