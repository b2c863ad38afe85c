// The pass-time models of a run as a person reads them: a table of terms, then what was left out and what the slopes say of the links.

import type { FittedTerm, PassFit, Unit } from '../core/fit/pass-model.ts';
import type { ArmFit, RunFit } from '../core/fit/run-fit.ts';
import { plural } from '../core/verdict/lines.ts';
import { NOT_KNOWN, number, share } from './format.ts';
import { fold, inLook, type Look } from './paint.ts';
import { drawTable } from './table.ts';

export function fitReport(run: RunFit, look: Look): string {
  const { paint, width } = look;
  const line = (text: string): string => fold(text, width, '  ');
  const notes = run.arms.flatMap(({ arm, ...found }) =>
    notesOf(found).map(({ text, isDoubt }) => (isDoubt ? paint.yellow : plain)(line(`${arm}: ${text}`))),
  );
  const parts = [
    `${paint.bold('pass time')}  ${run.runFolder}\n${line(headOf(run))}`,
    drawTable(COLUMNS, run.arms.flatMap(rowsOf)),
    notes.join('\n'),
    paint.dim(line(LEGEND)),
  ];
  return `${inLook(parts.join('\n\n'), look)}\n`;
}

const plain = (text: string): string => text;

const headOf = ({ device, classes }: RunFit): string =>
  `device ${device ?? NOT_KNOWN} · passes of ${classes.join(', ')} · ms = a + b·rows + c·pcie + d·file + e·cpu, each arm by itself`;

const LEGEND = [
  'interval: 95 %, errors clustered by run (CR2, Satterthwaite)',
  'VIF: how much likeness to the other terms swells the variance',
  'of a pass: the term at its mean',
  'a slope of a source: what one more there costs instead of a hit',
  'held out: every block foretold by the others',
].join(' · ');

const COLUMNS = [
  { head: 'arm', align: 'left' },
  { head: 'term', align: 'left' },
  { head: 'ms', align: 'right' },
  { head: 'each', align: 'left' },
  { head: 'interval', align: 'left' },
  { head: 'VIF', align: 'right' },
  { head: 'of a pass', align: 'right' },
  { head: 'share', align: 'right' },
] as const;

function rowsOf({ arm, fit }: ArmFit): string[][] {
  if (fit === null) return [[arm, NOT_KNOWN, '', '', 'too few passes', '', '', '']];
  return fit.terms.map((term) => [
    arm,
    term.term === 'constant' ? 'a pass' : term.term,
    signed(term.value),
    eachOf(term, fit.unit),
    term.interval === null ? NOT_KNOWN : `${signed(term.interval[0])} to ${signed(term.interval[1])}`,
    term.inflation === null ? '' : number(term.inflation),
    `${signed(term.meanMs)} ms`,
    shareOf(term.meanMs, fit.meanMs),
  ]);
}

const signed = (value: number): string => `${value < 0 ? '−' : ''}${number(Math.abs(value))}`;

/** A part may be below 0: what saves time. */
function shareOf(part: number, whole: number): string {
  const text = share(whole === 0 ? null : Math.abs(part / whole));
  return part < 0 ? `−${text}` : text;
}

function eachOf({ term }: FittedTerm, unit: Unit): string {
  if (term === 'constant') return '';
  return term === 'rows' ? 'row' : unit;
}

interface Note {
  readonly text: string;
  readonly isDoubt?: boolean;
}

function notesOf({ unusable, fit, links }: Omit<ArmFit, 'arm'>): Note[] {
  const lacking: Note[] =
    unusable === 0 ? [] : [{ text: `${plural(unusable, 'pass', 'passes')} without the numbers it needs` }];
  if (fit === null) return lacking;
  return [
    { text: summaryOf(fit) },
    ...lacking,
    ...fit.leftOut.map(({ term, why }) => ({ text: `${term} is left out: it ${why}` })),
    ...links.map(({ line, state }) => ({ text: line, isDoubt: state === 'contradiction' })),
  ];
}

function summaryOf({ passes, runs, blocks, meanMs, r2, heldOutR2, residualMs }: PassFit): string {
  const count = `${plural(passes, 'pass', 'passes')} of ${plural(runs, 'run')} in ${plural(blocks, 'block')}`;
  return `${count}, ${number(meanMs)} ms each; R² ${digits(r2)}, held out ${digits(heldOutR2)}; ${number(residualMs)} ms are left`;
}

const digits = (value: number | null): string =>
  value === null ? NOT_KNOWN : `${value < 0 ? '−' : ''}${Math.abs(value).toFixed(3)}`;
