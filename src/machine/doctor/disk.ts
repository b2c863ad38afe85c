// The disk a model or a run lies on: room, and whether it can be read around the page cache.
import { type Finding, gib, type Sources } from './finding.ts';

const LOW_BYTES = 5 * 1024 ** 3;

/** `role` is what the folder is for: "models", "results". */
export function disk(sources: Sources, role: string, folder: string): Finding {
  const name = `disk: ${role}`;
  const free = sources.freeBytes(folder);
  if (free === null) return { name, state: 'unknown', value: `${folder} cannot be looked at`, remedy: null };
  const direct = sources.directIo(folder);
  const type = fileSystem(sources, folder);
  const value = `${folder}: ${gib(free)} free, ${type}, O_DIRECT ${direct === 'works' ? 'works' : direct}`;
  if (free < LOW_BYTES)
    return { name, state: 'warn', value, remedy: `du -xh --max-depth=2 ${folder} | sort -h | tail` };
  if (direct === 'refused') {
    return {
      name,
      state: 'warn',
      value: `${value}: the file tier would go through the page cache`,
      remedy: 'findmnt -t ext4,xfs,btrfs',
    };
  }
  return { name, state: direct === 'unknown' ? 'unknown' : 'ok', value, remedy: null };
}

/** The type of the mount with the longest path above the folder. */
function fileSystem(sources: Sources, folder: string): string {
  let best = { path: '', type: 'unknown file system' };
  for (const line of (sources.readText('/proc/self/mountinfo') ?? '').split('\n')) {
    const [before, after] = line.split(' - ');
    const path = before?.split(' ')[4];
    const type = after?.split(' ')[0];
    if (path === undefined || type === undefined) continue;
    const isAbove = path === '/' || folder === path || folder.startsWith(`${path}/`);
    // A later mount on the same path hides the earlier one.
    if (isAbove && path.length >= best.path.length) best = { path, type };
  }
  return best.type;
}
