// Memory: how much may be locked, limited by whom, whether it grows, and who evicts it. Owns what is good for a pinned arena.
import { type Finding, gib, meminfoBytes, type Sources } from './finding.ts';

const CAP_IPC_LOCK = 14n;
const THP = '/sys/kernel/mm/transparent_hugepage/enabled';

export function hugePages(sources: Sources): Finding {
  const name = 'huge pages';
  const modes = sources.readText(THP)?.trim();
  if (modes === undefined) return { name, state: 'unknown', value: `${THP} cannot be read`, remedy: null };
  const mode = /\[(\w+)\]/.exec(modes)?.[1] ?? modes;
  const reserved = Number(
    /^HugePages_Total:\s+(\d+)/m.exec(sources.readText('/proc/meminfo') ?? '')?.[1] ?? 0,
  );
  const value = `transparent: ${mode}; reserved: ${reserved}`;
  if (mode !== 'never' || reserved > 0) return { name, state: 'ok', value, remedy: null };
  return { name, state: 'warn', value, remedy: `echo madvise | sudo tee ${THP}` };
}

export function memlock(sources: Sources): Finding {
  const name = 'memlock';
  const effective = /^CapEff:\s+([0-9a-f]+)/m.exec(sources.readText('/proc/self/status') ?? '')?.[1];
  if (effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_IPC_LOCK) & 1n) === 1n) {
    return { name, state: 'ok', value: 'not limited (CAP_IPC_LOCK)', remedy: null };
  }
  const limit = /^Max locked memory\s+(\S+)/m.exec(sources.readText('/proc/self/limits') ?? '')?.[1];
  if (limit === undefined)
    return { name, state: 'unknown', value: '/proc/self/limits cannot be read', remedy: null };
  if (limit === 'unlimited') return { name, state: 'ok', value: 'unlimited', remedy: null };
  const total = meminfoBytes(sources, 'MemTotal');
  const value = `${gib(Number(limit))}: a bigger arena cannot be pinned`;
  if (total !== null && Number(limit) >= total / 2)
    return { name, state: 'ok', value: gib(Number(limit)), remedy: null };
  return { name, state: 'warn', value, remedy: 'sudo prlimit --pid $$ --memlock=unlimited' };
}

export function swap(sources: Sources): Finding {
  const name = 'swap';
  const total = meminfoBytes(sources, 'SwapTotal');
  const free = meminfoBytes(sources, 'SwapFree');
  const swappiness = sources.readText('/proc/sys/vm/swappiness')?.trim() ?? 'n/a';
  if (total === null || free === null)
    return { name, state: 'unknown', value: '/proc/meminfo cannot be read', remedy: null };
  if (total === 0) return { name, state: 'ok', value: `none (swappiness ${swappiness})`, remedy: null };
  const value = `${gib(total - free)} of ${gib(total)} in use, swappiness ${swappiness}`;
  const isHarmless = total === free && Number(swappiness) <= 10;
  return { name, state: isHarmless ? 'ok' : 'warn', value, remedy: isHarmless ? null : 'sudo swapoff -a' };
}

/** Balloon and hot-plug drivers: behind them memory that MemTotal does not show yet, or that may go away. */
const GROWING: readonly (readonly [string, string])[] = [
  ['/sys/bus/virtio/drivers/virtio_mem', 'virtio-mem'],
  ['/sys/bus/virtio/drivers/virtio_balloon', 'virtio balloon'],
  ['/sys/bus/vmbus/drivers/hv_balloon', 'Hyper-V balloon'],
  ['/sys/module/vmw_balloon', 'VMware balloon'],
];

export function growingMemory(sources: Sources): Finding {
  const name = 'memory growth';
  const total = meminfoBytes(sources, 'MemTotal');
  if (total === null) return { name, state: 'unknown', value: '/proc/meminfo cannot be read', remedy: null };
  const drivers = GROWING.flatMap(([path, driver]) => {
    const names = sources.list(path);
    const isBound = path.startsWith('/sys/module')
      ? names.length > 0
      : names.some((item) => /^(virtio\d|[0-9a-f]{8}-)/.test(item));
    return isBound ? [driver] : [];
  });
  const blocks = sources.list('/sys/devices/system/memory').filter((item) => /^memory\d+$/.test(item));
  const offline = blocks.filter(
    (item) => sources.readText(`/sys/devices/system/memory/${item}/state`)?.trim() === 'offline',
  );
  const hints = [...drivers, ...(offline.length > 0 ? [`${offline.length} memory blocks offline`] : [])];
  if (hints.length === 0) return { name, state: 'ok', value: `${gib(total)}, fixed`, remedy: null };
  const value = `${gib(total)} now; may grow or shrink as it is used (${hints.join(', ')}): touch it before measuring`;
  return { name, state: 'warn', value, remedy: 'stress-ng --vm 1 --vm-bytes 80% --vm-populate --vm-ops 1' };
}

interface Evictor {
  readonly what: string;
  readonly remedy: string;
}

/** Who evicts file pages though memory is free: a model read through the page cache is then not where it was. */
export function pageCache(sources: Sources): Finding {
  const evictors = [...evictingModules(sources), ...damonSchemes(sources), ...zoneReclaim(sources)];
  const [first] = evictors;
  const canSee =
    sources.list('/sys/kernel/mm').length > 0 || sources.readText('/proc/sys/vm/zone_reclaim_mode') !== null;
  if (first === undefined && !canSee) {
    return { name: 'page cache', state: 'unknown', value: '/sys/kernel/mm cannot be read', remedy: null };
  }
  if (first === undefined) {
    return { name: 'page cache', state: 'ok', value: 'no eviction scheme is on', remedy: null };
  }
  const names = evictors.map((evictor) => evictor.what).join(', ');
  const value = `pages are evicted with memory free (${names}): keep models in a locked arena`;
  return { name: 'page cache', state: 'warn', value, remedy: first.remedy };
}

function evictingModules(sources: Sources): readonly Evictor[] {
  return ['damon_reclaim', 'damon_lru_sort'].flatMap((module) => {
    const path = `/sys/module/${module}/parameters/enabled`;
    const isOn = sources.readText(path)?.trim() === 'Y';
    return isOn ? [{ what: module, remedy: `echo N | sudo tee ${path}` }] : [];
  });
}

function zoneReclaim(sources: Sources): readonly Evictor[] {
  const isOn = sources.readText('/proc/sys/vm/zone_reclaim_mode')?.trim() === '1';
  return isOn ? [{ what: 'zone_reclaim_mode 1', remedy: 'sudo sysctl vm.zone_reclaim_mode=0' }] : [];
}

function damonSchemes(sources: Sources): readonly Evictor[] {
  return numbered(sources, '/sys/kernel/mm/damon/admin/kdamonds').flatMap((kdamond) => {
    if (sources.readText(`${kdamond}/state`)?.trim() !== 'on') return [];
    const schemes = numbered(sources, `${kdamond}/contexts`).flatMap((context) =>
      numbered(sources, `${context}/schemes`),
    );
    const actions = schemes.map((scheme) => sources.readText(`${scheme}/action`)?.trim());
    return actions.flatMap((action) =>
      action === 'pageout' || action === 'cold'
        ? [{ what: `DAMON scheme: ${action}`, remedy: `echo off | sudo tee ${kdamond}/state` }]
        : [],
    );
  });
}

function numbered(sources: Sources, folder: string): readonly string[] {
  return sources
    .list(folder)
    .filter((item) => /^\d+$/.test(item))
    .map((item) => `${folder}/${item}`);
}
