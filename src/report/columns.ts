// The columns of a verdict's two tables: speed and work. Knows what a cell says, not how a table is drawn.

import { type Known, scaled } from '../core/known.ts';
import type { PassCauses } from '../core/records/causes.ts';
import type { ArmClassVerdict, OutputEvidence, Verdict } from '../core/records/verdict.ts';
import { signed, signedPercent } from '../core/verdict/cost.ts';
import { ratioParts } from '../core/verdict/lines.ts';
import { count, megabytes, NOT_KNOWN, number, share, signedNumber } from './format.ts';

export interface Column {
  readonly head: string;
  readonly align: 'left' | 'right';
  readonly cell: (row: ArmClassVerdict) => string;
}

const right = (head: string, cell: Column['cell']): Column => ({ head, align: 'right', cell });
const left = (head: string, cell: Column['cell']): Column => ({ head, align: 'left', cell });

const CLASS = left('class', (row) => row.class);
const ARM = left('arm', (row) => row.arm);

/** A share of something that there is none of is not 0 %. */
const sourceShare = (row: ArmClassVerdict, source: 'hit'): string => {
  const { total } = row.lookups;
  const part = row.lookups[source];
  return part === null || total === null || total === 0 ? NOT_KNOWN : share(part / total);
};

export function speedColumns(): Column[] {
  return [
    CLASS,
    ARM,
    right('tok/s', (row) => number(row.tokPerSec)),
    right('× base', (row) => (row.ratio === null ? dash(row) : ratioParts(row.ratio).ratio)),
    left('interval', (row) => (row.ratio === null ? '' : ratioParts(row.ratio).interval)),
    left('speed', (row) => row.speed),
    left('output', (row) => (row.lossy === undefined ? row.output : `${row.output} lossy`)),
    right('tok/pass', (row) => number(row.tokensPerPass)),
    right('ms/pass', (row) => number(row.msPerPass)),
    right('prefill tok/s', (row) => number(row.prefillTokPerSec)),
    right('TTFT ms', (row) => number(row.ttftMs)),
    right('load s', (row) => number(row.loadS)),
  ];
}

/** The baseline has no ratio to itself; an arm without one could not be compared. */
const dash = (row: ArmClassVerdict): string => (row.speed === 'baseline' ? '–' : NOT_KNOWN);

export function workColumns(verdict: Verdict): Column[] {
  const hasDevice = verdict.arms.some((row) => row.deviceBytesPerToken !== null);
  const hasDrafts = verdict.arms.some((row) => row.acceptance !== null);
  return [
    CLASS,
    ARM,
    right('lookups', (row) => count(row.lookups.total)),
    right('hit', (row) => count(row.lookups.hit)),
    right('pcie', (row) => count(row.lookups.pcie)),
    right('cpu', (row) => count(row.lookups.cpu)),
    right('file', (row) => count(row.lookups.file)),
    right('skipped', (row) => count(row.lookups.skipped)),
    right('hit share', (row) => sourceShare(row, 'hit')),
    ...(hasDrafts ? [right('accepted', (row) => share(row.acceptance))] : []),
    right('host MB/token', (row) => megabytes(row.hostBytesPerToken)),
    ...(hasDevice ? [right('device MB/token', (row) => megabytes(row.deviceBytesPerToken))] : []),
    right('ceiling tok/s', (row) => number(row.ceilingTokPerSec)),
    right('of it', (row) => share(row.ceilingShare)),
  ];
}

/** Where the time of a pass went, what a token had to be read for, and what it cost: only the columns that somebody measured. */
export function costColumns(verdict: Verdict): Column[] {
  const some = (of: (row: ArmClassVerdict) => unknown): boolean =>
    verdict.arms.some((row) => (of(row) ?? null) !== null);
  const cause = (head: string, name: keyof PassCauses): Column[] =>
    some(({ causes }) => causes?.[name]) ? [right(head, ({ causes }) => number(causes?.[name] ?? null))] : [];
  const columns = [
    ...cause('draft ms', 'draft'),
    ...cause('dense', 'dense'),
    ...cause('CPU pool', 'pool'),
    ...cause('file wait', 'fileWait'),
    ...cause('other', 'other'),
    ...(some(memoryRate) ? [right('host GB/s', (row) => gigabytes(memoryRate(row)))] : []),
    ...(some(({ fileBytesPerToken: bytes }) => bytes || null)
      ? [
          right('file MB/token', (row) => megabytes(row.fileBytesPerToken ?? null)),
          right('file GB/s', (row) => gigabytes(fileRate(row))),
        ]
      : []),
    ...(some(({ binds }) => binds)
      ? [left('binds', ({ binds }) => (binds ?? NOT_KNOWN).replace(/ memory$/, ''))]
      : []),
    ...(some(({ joulesPerToken }) => joulesPerToken)
      ? [right('J/token ≈', (row) => number(row.joulesPerToken ?? null))]
      : []),
  ];
  return columns.length === 0 ? [] : [CLASS, ARM, ...columns];
}

const gigabytes = (bytesPerSec: number | null): string => number(scaled(bytesPerSec, 1e-9));

/** Bytes a second that a rate of tokens asks of the memory; what a file delivered is charged to the file alone, as in the ceiling. */
function memoryRate({ tokPerSec, hostBytesPerToken: host, fileBytesPerToken: file }: ArmClassVerdict): Known {
  return tokPerSec === null || host === null || (file ?? null) === null
    ? null
    : tokPerSec * (host - (file ?? 0));
}

function fileRate({ tokPerSec, fileBytesPerToken: file }: ArmClassVerdict): Known {
  return tokPerSec === null ? null : scaled(file ?? null, tokPerSec);
}

/** Whether an arm says the same, and why it is faster: nothing to show where no arm was held against the baseline. */
export function outputColumns(verdict: Verdict): Column[] {
  if (verdict.arms.every((row) => row.evidence === undefined)) return [];
  const of = (cell: (evidence: OutputEvidence) => string): Column['cell'] => {
    return (row) => (row.evidence === undefined ? dash(row) : cell(row.evidence));
  };
  const part = (name: 'tokPerSec' | 'tokensPerPass' | 'msPerPass'): Column['cell'] => {
    return (row) => (row.split === undefined ? dash(row) : signedNumber(row.split[name]));
  };
  return [
    CLASS,
    ARM,
    left('output', (row) => row.output),
    right(
      'other ids',
      of(({ differing, compared }) => `${differing} of ${compared}`),
    ),
    right('parts at', of(partsAt)),
    right(
      'gap nat',
      of(({ firstDivergence: first }) => (first === null ? '–' : number(first.gapNats))),
    ),
    right(
      'Δ tokens',
      of(({ deltaTokens }) => (deltaTokens === null ? NOT_KNOWN : signed(deltaTokens))),
    ),
    right(
      'ppl',
      of(({ score }) => (score === null ? 'unscored' : signedPercent(score.perplexityRatio - 1, 2))),
    ),
    right(
      'top-1',
      of(({ score }) => (score === null ? 'unscored' : share(score.sameTop1))),
    ),
    right('Δln tok/s', part('tokPerSec')),
    right('= tok/pass', part('tokensPerPass')),
    right('− ms/pass', part('msPerPass')),
  ];
}

const partsAt = ({ firstDivergence: first }: OutputEvidence): string =>
  first === null ? '–' : `token ${first.token}`;
