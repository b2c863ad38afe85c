// The columns of a verdict's two tables: speed and work. Knows what a cell says, not how a table is drawn.

import type { ArmClassVerdict, Verdict } from '../core/records/verdict.ts';
import { ratioParts } from '../core/verdict/lines.ts';
import { count, megabytes, NOT_KNOWN, number, share } from './format.ts';

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
