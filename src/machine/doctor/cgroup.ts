// The control group this process lives in: its memory limit and its share of the CPUs, in version 2 and version 1.
import { type Finding, gib, meminfoBytes, type Sources } from './finding.ts';

/** Version 1 says "no limit" by a number near 2^63. */
const NO_LIMIT_FROM = 2 ** 60;

interface Limit {
  readonly value: number;
  /** The file that holds it. */
  readonly file: string;
  /** What to write there to have no limit. */
  readonly none: string;
}

export function cgroupMemory(sources: Sources): Finding {
  const name = 'memory limit';
  const total = meminfoBytes(sources, 'MemTotal');
  const own = sources.readText('/proc/self/cgroup');
  if (own === null || total === null) {
    return {
      name,
      state: 'unknown',
      value: '/proc/self/cgroup or /proc/meminfo cannot be read',
      remedy: null,
    };
  }
  const limit = smallest([
    ...limits(sources, files(own, '', '', 'memory.max'), 'max', Number),
    ...limits(sources, files(own, 'memory', '/memory', 'memory.limit_in_bytes'), '-1', Number),
  ]);
  if (limit === null || limit.value >= Math.min(total, NO_LIMIT_FROM)) {
    return { name, state: 'ok', value: `none below ${gib(total)}`, remedy: null };
  }
  const value = `the cgroup allows ${gib(limit.value)} of ${gib(total)}; a bigger engine is killed`;
  return { name, state: 'warn', value, remedy: remedy(limit) };
}

export function cpuQuota(sources: Sources): Finding {
  const name = 'CPU quota';
  const own = sources.readText('/proc/self/cgroup');
  if (own === null)
    return { name, state: 'unknown', value: '/proc/self/cgroup cannot be read', remedy: null };
  const limit = smallest([
    ...limits(sources, files(own, '', '', 'cpu.max'), 'max', quotaCores),
    ...limits(sources, files(own, 'cpu', '/cpu', 'cpu.cfs_quota_us'), '-1', (text, file) => {
      const period = sources.readText(file.replace('quota', 'period'));
      return period === null ? Number.NaN : quotaCores(`${text.trim()} ${period.trim()}`);
    }),
  ]);
  if (limit === null || limit.value >= sources.cores)
    return { name, state: 'ok', value: 'none', remedy: null };
  const value = `${limit.value.toFixed(1)} of ${sources.cores} cores: an engine is stopped when it has used them up`;
  return { name, state: 'warn', value, remedy: remedy(limit) };
}

function remedy(limit: Limit): string {
  return `echo ${limit.none} | sudo tee ${limit.file}`;
}

/** A limit counts from the own group up to the root, and the smallest rules. */
function smallest(found: readonly Limit[]): Limit | null {
  return found.reduce<Limit | null>(
    (best, next) => (best === null || next.value < best.value ? next : best),
    null,
  );
}

function limits(
  sources: Sources,
  paths: readonly string[],
  none: string,
  parse: (text: string, file: string) => number,
): readonly Limit[] {
  return paths.flatMap((file) => {
    const text = sources.readText(file);
    const value = text === null ? Number.NaN : parse(text, file);
    return Number.isFinite(value) ? [{ value, file, none }] : [];
  });
}

/** The named file in the own group and in each one above it. `controller` is empty for version 2. */
function files(own: string, controller: string, mount: string, file: string): readonly string[] {
  const line = own.split('\n').find((text) => (text.split(':')[1] ?? 'none').split(',').includes(controller));
  const path = line?.split(':').slice(2).join(':') ?? '/';
  const parts = path.split('/').filter((part) => part !== '' && part !== '..');
  const folders = ['', ...parts.map((_, i) => `/${parts.slice(0, i + 1).join('/')}`)];
  return folders.map((folder) => `/sys/fs/cgroup${mount}${folder}/${file}`);
}

/** "150000 100000" is one and a half cores; "max 100000" and "-1 100000" are no limit. */
function quotaCores(text: string): number {
  const [quota = Number.NaN, period = Number.NaN] = text.trim().split(' ').map(Number);
  return quota > 0 && period > 0 ? quota / period : Number.NaN;
}
