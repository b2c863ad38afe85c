// Machines made of a few files and program outputs, for the doctor's tests.
import type { CommandOutput, Finding, Sources } from '../../src/machine/doctor/finding.ts';

export interface FakeMachine {
  readonly files?: Readonly<Record<string, string>>;
  /** By the first word, or by the whole command line. */
  readonly programs?: Readonly<Record<string, Partial<CommandOutput>>>;
  readonly freeBytes?: number | null;
  readonly directIo?: 'works' | 'refused' | 'unknown';
  readonly cores?: number;
}

export function machine(fake: FakeMachine = {}): Sources {
  const files = fake.files ?? {};
  return {
    readText: (path) => files[path] ?? null,
    list: (path) => {
      const below = Object.keys(files).filter((file) => file.startsWith(`${path}/`));
      return [...new Set(below.map((file) => file.slice(path.length + 1).split('/')[0] ?? ''))];
    },
    run: (argv) => {
      const found = fake.programs?.[argv.join(' ')] ?? fake.programs?.[argv[0] ?? ''];
      return found === undefined ? null : { code: 0, stdout: '', stderr: '', ...found };
    },
    freeBytes: () => (fake.freeBytes === undefined ? 100 * 1024 ** 3 : fake.freeBytes),
    directIo: () => fake.directIo ?? 'works',
    cores: fake.cores ?? 8,
  };
}

export const MEMINFO =
  'MemTotal:       16777216 kB\nMemFree: 1 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nHugePages_Total:       0\n';

/** What the doctor says about one thing on a machine, in one line. */
export function line(look: (sources: Sources) => Finding, fake: FakeMachine): string {
  const { state, value, remedy } = look(machine(fake));
  return `${state}: ${value}${remedy === null ? '' : ` | ${remedy}`}`;
}
