// What `rota score` found, as a person reads it: two tables and what their numbers mean. Decides nothing.

import { armLabel } from '../core/records/arm-label.ts';
import type { ClassScore, Estimate, Scored, ScoreReport } from '../core/records/score.ts';
import { plural } from '../core/verdict/lines.ts';
import { NOT_KNOWN, number, share } from './format.ts';
import { fold, inLook, type Look } from './paint.ts';
import { drawTable } from './table.ts';

interface Row {
  readonly arm: string;
  readonly score: ClassScore;
}

interface Column {
  readonly head: string;
  readonly align: 'left' | 'right';
  readonly cell: (row: Row) => string;
}

const right = (head: string, cell: Column['cell']): Column => ({ head, align: 'right', cell });
const left = (head: string, cell: Column['cell']): Column => ({ head, align: 'left', cell });

const CLASS = left('class', ({ score }) => score.class);
const ARM = left('arm', ({ arm }) => arm);

type Show = (value: number) => string;

const shown = (estimate: Estimate | null, show: Show): string =>
  estimate === null ? '–' : show(estimate.value);
/** One window has no interval; the baseline has no difference from itself. */
function interval(estimate: Estimate | null, show: Show): string {
  if (estimate === null) return '';
  if (estimate.interval === null) return NOT_KNOWN;
  const [low, high] = estimate.interval.map(show);
  return `${low}–${high}`;
}

const times: Show = (ratio) => `${ratio.toFixed(3)}×`;
const bare: Show = (ratio) => ratio.toFixed(3);
const percent: Show = (value) => (100 * value).toFixed(1);
const nats: Show = (value) =>
  value !== 0 && Math.abs(value) < 0.00005 ? value.toExponential(1) : value.toFixed(4);

const QUALITY: readonly Column[] = [
  CLASS,
  ARM,
  right('ppl', ({ score }) => number(score.perplexity.value)),
  left('interval', ({ score }) => interval(score.perplexity, number)),
  right('× first', ({ score }) => shown(score.perplexityRatio, times)),
  left('interval', ({ score }) => interval(score.perplexityRatio, bare)),
  right('top-1 %', ({ score }) => percent(score.sameTop1.value)),
  left('interval', ({ score }) => interval(score.sameTop1, percent)),
  right('KLD nat', ({ score }) => (score.divergence === null ? NOT_KNOWN : nats(score.divergence.value))),
  left('interval', ({ score }) => interval(score.divergence, nats)),
];

function textColumns(report: ScoreReport): Column[] {
  const rateOf = ({ arm, score }: Row): string =>
    number(
      report.rates?.of.find((rate) => rate.arm === arm && rate.class === score.class)?.tokPerSec ?? null,
    );
  const measured = report.rates === null ? [] : [right('tok/s (run)', rateOf)];
  return [
    CLASS,
    ARM,
    right('windows', ({ score }) => String(score.windows)),
    right('places', ({ score }) => String(score.places)),
    left('prefill digest', ({ score }) => score.prefillSha256?.slice(0, 12) ?? NOT_KNOWN),
    right('texts', ({ score }) => String(score.greedy?.texts ?? 0)),
    right('tokens', ({ score }) => String(score.greedy?.tokens ?? 0)),
    right('8-grams again', ({ score }) => share(score.greedy?.repeatedShare ?? null)),
    right('looping', ({ score }) => String(score.greedy?.looping ?? NOT_KNOWN)),
    right('first loop', ({ score: { greedy } }) => loopWord(greedy)),
    ...measured,
    right('tok/s (glance)', ({ score }) => number(score.greedy?.tokPerSecIndication ?? null)),
  ];
}

function loopWord(greedy: ClassScore['greedy']): string {
  if (greedy === null) return NOT_KNOWN;
  return greedy.firstLoop === null ? '–' : `token ${greedy.firstLoop.at + 1}`;
}

export function scoreReport(report: ScoreReport, look: Look): string {
  const classes = report.arms[0]?.classes.map((each) => each.class) ?? [];
  const rows = classes.flatMap((name) =>
    report.arms.flatMap((arm) => {
      const score = arm.classes.find((each) => each.class === name);
      return score === undefined ? [] : [{ arm: arm.name, score }];
    }),
  );
  const table = (columns: readonly Column[]): string =>
    drawTable(
      columns,
      rows.map((row) => columns.map(({ cell }) => cell(row))),
    );
  const lossy = report.arms.filter((arm) => arm.lossy.length > 0);
  const notes = [
    `reference: ${named(report.reference)}`,
    ...lossy.map((arm) => `${arm.name}: ${labelOf(arm)}`),
    ...notesOf(report),
  ];
  const text = notes.map((note) => fold(note, look.width, '  ')).join('\n');
  return inLook(`${table(QUALITY)}\n\n${table(textColumns(report))}\n\n${text}\n`, look);
}

function labelOf({ lossy }: Scored): string {
  return armLabel({ lossyKnobs: lossy, overrides: [] });
}

function named(scored: Scored): string {
  const { name, engine, model, device, subject } = scored;
  const label = labelOf(scored);
  const words = [label === '' ? name : `${name} ${label}`, `${engine} on ${device}`, model];
  return [...words, ...(subject === undefined ? [] : [subject])].join(', ');
}

function notesOf({ window, context, rows, arms, rates }: ScoreReport): string[] {
  const how = rows === 'decode' ? 'routed as decode is' : 'read as a prompt';
  const hasDivergence = arms.every((arm) => arm.classes.every(({ divergence }) => divergence !== null));
  return [
    `windows of ${plural(window, 'token')}: ${context} are context, the others are counted, ${how}`,
    'top-1: places where arm and reference find the same token likeliest. KLD: divergence of the arm from the reference, nats a place',
    'intervals: t over windows, 95 %, each by itself; × first: perplexity over that of the first arm, paired by window',
    ...(hasDivergence ? [] : ['KLD n/a: an engine does not give whole distributions']),
    ...(rates === null ? [] : [`tok/s (run): measured, ${rates.run}`]),
    'tok/s (glance): of the greedy texts, once, with nothing watched: an indication, no measurement; rota ab and rota run measure',
  ];
}
