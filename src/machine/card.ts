// Owns the machine's card: what it is, read once a session, and the key by which results of one machine belong together.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { execa } from 'execa';
import { cpu, memLayout, osInfo } from 'systeminformation';

export interface MachineCard {
  /** sha256 over the stable fields only: volatile ones would make a new machine of the same one every day. */
  readonly key: string;
  readonly cpu: {
    readonly model: string;
    readonly sockets: number;
    readonly cores: number;
    readonly threads: number;
  };
  readonly memory: { readonly totalBytes: number | null; readonly modules: readonly string[] };
  /** All of the outermost cache together: a model that fits it is not measured against memory. */
  readonly lastLevelCacheBytes: number | null;
  readonly numaNodes: string | null;
  readonly gpus: readonly string[] | null;
  readonly driver: string | null;
  readonly os: string;
  readonly kernel: string;
  readonly node: string;
  /** Stored, never part of the key. */
  readonly governor: string | null;
  readonly cpuMhz: number | null;
}

function readLine(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return null;
  }
}

const CPUS = '/sys/devices/system/cpu';

function namesIn(folder: string, pattern: RegExp): string[] {
  try {
    return readdirSync(folder).filter((name) => pattern.test(name));
  } catch {
    return [];
  }
}

/** Cores that share a cache name the same cores as sharers, so each cache is counted once. */
function lastLevelCacheBytes(): number | null {
  const caches = new Map<string, { level: number; bytes: number }>();
  for (const core of namesIn(CPUS, /^cpu\d+$/)) {
    for (const index of namesIn(`${CPUS}/${core}/cache`, /^index\d+$/)) {
      const read = (name: string): string => readLine(`${CPUS}/${core}/cache/${index}/${name}`) ?? '';
      const kib = /^(\d+)K$/.exec(read('size'))?.[1];
      const level = Number(read('level'));
      if (kib === undefined || read('type') === 'Instruction') continue;
      caches.set(`${level} ${read('shared_cpu_list')}`, { level, bytes: Number(kib) * 1024 });
    }
  }
  const outermost = Math.max(...[...caches.values()].map((cache) => cache.level));
  const bytes = [...caches.values()].filter((cache) => cache.level === outermost).map((cache) => cache.bytes);
  return bytes.length === 0 ? null : bytes.reduce((sum, each) => sum + each, 0);
}

async function readGpus(): Promise<{ gpus: string[]; driver: string | null } | null> {
  const query = ['--query-gpu=uuid,name,driver_version', '--format=csv,noheader'];
  const result = await execa('nvidia-smi', query, {
    reject: false,
    timeout: 20_000,
    env: { LC_ALL: 'C.UTF-8' },
  });
  if (result.exitCode !== 0) return null;
  const rows = result.stdout.split('\n').filter((line) => line.startsWith('GPU-'));
  return {
    gpus: rows.map((row) => row.split(', ').slice(0, 2).join(' ')).sort(),
    driver: rows[0]?.split(', ')[2]?.trim() ?? null,
  };
}

function memoryTotal(): number | null {
  const match = /^MemTotal:\s+(\d+) kB$/m.exec(readLine('/proc/meminfo') ?? '');
  return match?.[1] === undefined ? null : Number(match[1]) * 1024;
}

export function machineKey(card: Omit<MachineCard, 'key'>): string {
  const stable = {
    cpu: card.cpu,
    modules: card.memory.modules,
    numaNodes: card.numaNodes,
    gpus: card.gpus,
    driver: card.driver,
    kernelMajor: card.kernel.split('.').slice(0, 2).join('.'),
  };
  return createHash('sha256').update(JSON.stringify(stable)).digest('hex');
}

export async function readMachineCard(): Promise<MachineCard> {
  const [processor, modules, system, gpu] = await Promise.all([cpu(), memLayout(), osInfo(), readGpus()]);
  const card = {
    cpu: {
      model: `${processor.manufacturer} ${processor.brand}`.trim(),
      sockets: processor.processors,
      cores: processor.physicalCores,
      threads: processor.cores,
    },
    memory: {
      totalBytes: memoryTotal(),
      // A guest sees one nameless module as large as its memory of the moment: that is no hardware.
      modules: modules
        .filter((module) => module.type !== '')
        .map((module) => `${module.size} ${module.type} ${module.clockSpeed ?? 'unknown'} MT/s`),
    },
    lastLevelCacheBytes: lastLevelCacheBytes(),
    numaNodes: readLine('/sys/devices/system/node/online'),
    gpus: gpu?.gpus ?? null,
    driver: gpu?.driver ?? null,
    os: `${system.distro} ${system.release}`.trim(),
    kernel: system.kernel,
    node: process.version,
    governor: readLine('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'),
    cpuMhz: Number.isFinite(processor.speed) && processor.speed > 0 ? processor.speed * 1000 : null,
  };
  return { key: machineKey(card), ...card };
}
