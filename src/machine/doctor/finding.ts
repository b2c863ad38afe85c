// What the doctor says about one thing, and where it looks. Owns those two shapes; looks at nothing itself.

/** `waived`: does not apply here, and the value says why. `unknown`: could not be read, which is neither good nor bad. */
export type FindingState = 'ok' | 'warn' | 'missing' | 'waived' | 'unknown';

export interface Finding {
  readonly name: string;
  readonly state: FindingState;
  readonly value: string;
  /** One command line; null where there is nothing to do, or nothing that a command could do. */
  readonly remedy: string | null;
}

export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Everything the doctor reads, so that a test can be any machine. */
export interface Sources {
  /** null: not there, or not readable. */
  readText(path: string): string | null;
  /** Names in a folder; empty where there is none. */
  list(path: string): readonly string[];
  /** null: no such program. */
  run(argv: readonly string[]): CommandOutput | null;
  freeBytes(path: string): number | null;
  /** Whether a file in this folder can be read around the page cache. */
  directIo(folder: string): 'works' | 'refused' | 'unknown';
  readonly cores: number;
}

export function gib(bytes: number): string {
  return bytes > 0 && bytes < 1024 ** 3 / 10
    ? `${(bytes / 1024 ** 2).toFixed(1)} MiB`
    : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

/** A field of /proc/meminfo in bytes. */
export function meminfoBytes(sources: Sources, field: string): number | null {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(sources.readText('/proc/meminfo') ?? '');
  return match === null ? null : Number(match[1]) * 1024;
}
