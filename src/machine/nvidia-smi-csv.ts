// Owns the text of nvidia-smi: which fields a driver knows, its CSV by header, and its many ways to say "not available". Starts no process.

import type { GpuThrottle } from '../core/records/journal.ts';

/** Our name, and the spellings that drivers have used for it, newest first. */
const GPU_FIELDS = {
  uuid: ['uuid', 'gpu_uuid'],
  utilizationPercent: ['utilization.gpu'],
  memoryUsedMib: ['memory.used'],
  smClockMhz: ['clocks.sm', 'clocks.current.sm'],
  powerWatts: ['power.draw.instant', 'power.draw'],
  temperatureC: ['temperature.gpu'],
  throttleReasons: ['clocks_event_reasons.active', 'clocks_throttle_reasons.active'],
} as const;

export type GpuField = keyof typeof GPU_FIELDS;

/** The field names to ask this driver for, out of its own `--help-query-gpu`. Unknown to the driver: not asked for. */
export function knownGpuFields(help: string): Partial<Record<GpuField, string>> {
  const offered = new Set([...help.matchAll(/"([a-z0-9_.]+)"/gi)].map((match) => match[1]));
  const known: Partial<Record<GpuField, string>> = {};
  for (const [field, spellings] of Object.entries(GPU_FIELDS)) {
    const spelling = spellings.find((name) => offered.has(name));
    if (spelling !== undefined) known[field as GpuField] = spelling;
  }
  return known;
}

/**
 * A plain decimal number, or `null`. `[N/A]`, `[Not Supported]`, `[Insufficient Permissions]`, `[Unknown Error]`,
 * `ERR!`, `nan`, a decimal comma or a notice of deprecation are all "not known": never 0, never a guess.
 */
export function cellNumber(cell: string | undefined): number | null {
  const text = cell?.trim() ?? '';
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

/** `clocks.current.sm [MHz]` and `clocks.sm` are one column. */
function columnName(header: string): string {
  return header.trim().replace(/ \[.*\]$/, '');
}

const SAME_COLUMN: Readonly<Record<string, string>> = {
  'clocks.current.sm': 'clocks.sm',
  gpu_uuid: 'uuid',
  'clocks_throttle_reasons.active': 'clocks_event_reasons.active',
  used_gpu_memory: 'used_memory',
};

export type CsvRow = ReadonlyMap<string, string>;

export interface CsvReader {
  /** Bytes as they come, cut anywhere. */
  push(text: string): void;
  /** Lines that were neither a header nor a full row. */
  readonly strayLines: number;
}

/** Reads by header, not by position. A line with another number of cells is counted and dropped. */
export function createCsvReader(keyColumn: string, onRow: (row: CsvRow) => void): CsvReader {
  let columns: string[] | null = null;
  let rest = '';
  let strayLines = 0;
  const readLine = (line: string): void => {
    if (line.trim() === '') return;
    const cells = line.split(', ').map((cell) => cell.trim());
    const names = cells.map(columnName).map((name) => SAME_COLUMN[name] ?? name);
    if (names.includes(keyColumn)) {
      columns = names;
    } else if (columns === null || cells.length !== columns.length) {
      strayLines += 1;
    } else {
      onRow(new Map(columns.map((name, i) => [name, cells[i] ?? ''])));
    }
  };
  return {
    push(text) {
      const lines = (rest + text).split(/\r\n|\n|\r/);
      rest = lines.pop() ?? '';
      lines.forEach(readLine);
    },
    get strayLines() {
      return strayLines;
    },
  };
}

/** By NVML's bits. Being idle, and clocks that somebody set, are no throttling. */
const THROTTLE_BITS: readonly (readonly [bigint, GpuThrottle])[] = [
  [0x4n, 'power cap'],
  [0x8n, 'hardware slowdown'],
  [0x10n, 'sync boost'],
  [0x20n, 'software thermal slowdown'],
  [0x40n, 'hardware thermal slowdown'],
  [0x80n, 'power brake'],
];

/** Of a mask such as `0x0000000000000004`. Null: not told. */
export function throttlesIn(cell: string | undefined): GpuThrottle[] | null {
  const text = cell?.trim() ?? '';
  if (!/^0x[0-9a-f]{1,16}$/i.test(text)) return null;
  const mask = BigInt(text);
  return THROTTLE_BITS.flatMap(([bit, name]) => ((mask & bit) === 0n ? [] : [name]));
}

export interface GpuSample {
  readonly uuid: string;
  readonly utilizationPercent: number | null;
  readonly memoryUsedBytes: number | null;
  readonly smClockMhz: number | null;
  readonly powerWatts: number | null;
  readonly temperatureC: number | null;
  readonly throttles: readonly GpuThrottle[] | null;
}

const MIB = 1024 * 1024;

function bytesOfMib(mib: number | null): number | null {
  return mib === null ? null : mib * MIB;
}

/** A row of `--query-gpu`, asked for with `fields`. Without a UUID it cannot be told from its neighbours: `null`. */
export function gpuSample(row: CsvRow, fields: Partial<Record<GpuField, string>>): GpuSample | null {
  const cell = (field: GpuField): string | undefined => {
    const asked = fields[field];
    return asked === undefined ? undefined : row.get(SAME_COLUMN[asked] ?? asked);
  };
  const uuid = cell('uuid');
  if (uuid === undefined || !/^(GPU|MIG)-/.test(uuid)) return null;
  const percent = cellNumber(cell('utilizationPercent'));
  return {
    uuid,
    // Some drivers report more than 100 % on a partitioned card: that is not a share of anything.
    utilizationPercent: percent !== null && percent >= 0 && percent <= 100 ? percent : null,
    memoryUsedBytes: bytesOfMib(cellNumber(cell('memoryUsedMib'))),
    smClockMhz: cellNumber(cell('smClockMhz')),
    powerWatts: cellNumber(cell('powerWatts')),
    temperatureC: cellNumber(cell('temperatureC')),
    throttles: throttlesIn(cell('throttleReasons')),
  };
}

export interface ComputeApp {
  readonly uuid: string;
  readonly pid: number | null;
  readonly usedBytes: number | null;
}

/** A row of `--query-compute-apps=gpu_uuid,pid,used_memory`. */
export function computeApp(row: CsvRow): ComputeApp | null {
  const uuid = row.get('uuid');
  if (uuid === undefined || !/^(GPU|MIG)-/.test(uuid)) return null;
  return { uuid, pid: cellNumber(row.get('pid')), usedBytes: bytesOfMib(cellNumber(row.get('used_memory'))) };
}
