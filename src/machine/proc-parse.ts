// Owns the grammar of the /proc files that are sampled. Text in, numbers out; `null` where the kernel says nothing. Opens no file.

/** Ticks of /proc are 1/100 s on every Linux that Node runs on (USER_HZ is part of the kernel's interface). */
export const TICKS_PER_SECOND = 100;

export interface CpuTicks {
  readonly total: number;
  /** Not idle and not waiting for a disk. Stolen time is busy: another guest had the core, and we did not. */
  readonly busy: number;
  readonly stolen: number;
  /** Part of busy: interrupts, which belong to no process. */
  readonly interrupts: number;
  readonly cores: number;
}

export function parseCpuTicks(text: string): CpuTicks | null {
  const first = /^cpu +([\d ]+)$/m.exec(text)?.[1];
  if (first === undefined) return null;
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, irq = 0, softIrq = 0, stolen = 0] = first
    .trim()
    .split(/ +/)
    .map(Number);
  // Guest time is already inside user and nice.
  const busy = user + nice + system + irq + softIrq + stolen;
  const cores = (text.match(/^cpu\d+ /gm) ?? []).length;
  return { total: busy + idle + ioWait, busy, stolen, interrupts: irq + softIrq, cores };
}

export interface PidStat {
  readonly pid: number;
  readonly name: string;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** User and system time of the process with its ended threads, in ticks. */
  readonly ticks: number;
  /** The same of children that ended and were waited for. */
  readonly childTicks: number;
  /** Ticks after boot. With the pid it names a process for ever. */
  readonly startTicks: number;
}

/** /proc/PID/stat and /proc/PID/task/TID/stat. The name may hold blanks and brackets: it ends at the last `)`. */
export function parsePidStat(text: string): PidStat | null {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < open) return null;
  const fields = text
    .slice(close + 2)
    .trim()
    .split(' ');
  if (fields.length < 20) return null;
  const at = (index: number): number => Number(fields[index - 3]);
  const stat = {
    pid: Number(text.slice(0, open).trim()),
    name: text.slice(open + 1, close),
    state: fields[0] ?? '?',
    parent: at(4),
    group: at(5),
    session: at(6),
    ticks: at(14) + at(15),
    childTicks: at(16) + at(17),
    startTicks: at(22),
  };
  return Object.values(stat).every((value) => typeof value === 'string' || Number.isFinite(value))
    ? stat
    : null;
}

/** Bytes of one line of /proc/meminfo. */
export function parseMeminfo(text: string, key: string): number | null {
  const match = new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(text);
  return match?.[1] === undefined ? null : Number(match[1]) * 1024;
}

export function parseLoadAverage1(text: string): number | null {
  const value = Number(text.split(' ')[0]);
  return text.trim() === '' || !Number.isFinite(value) ? null : value;
}

/** Bytes read since boot from the devices named (whole physical devices: partitions and mappers would count twice). */
export function parseDiskReadBytes(text: string, devices: ReadonlySet<string>): number | null {
  let sectors: number | null = null;
  for (const line of text.split('\n')) {
    const fields = line.trim().split(/\s+/);
    const name = fields[2];
    const read = Number(fields[5]);
    if (name !== undefined && devices.has(name) && Number.isFinite(read)) sectors = (sectors ?? 0) + read;
  }
  return sectors === null ? null : sectors * 512;
}

/** /proc/PID/io: bytes that really came from storage. */
export function parseStorageReadBytes(text: string): number | null {
  const match = /^read_bytes: (\d+)$/m.exec(text);
  return match?.[1] === undefined ? null : Number(match[1]);
}
