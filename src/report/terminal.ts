// A verdict as a person reads it in a terminal: what was measured, two tables, one sentence an arm and class, what to doubt.

import type { Plan } from '../core/records/plan.ts';
import type { ArmClassVerdict, Verdict } from '../core/records/verdict.ts';
import { calibrationText } from '../core/verdict/calibration.ts';
import { percent, plural } from '../core/verdict/lines.ts';
import { FAMILY_ALPHA } from '../core/verdict/speed.ts';
import { type Column, costColumns, outputColumns, speedColumns, workColumns } from './columns.ts';
import { channelRates, share } from './format.ts';
import { fold, inLook, type Look, type Paint } from './paint.ts';
import { drawTable } from './table.ts';

export function terminalReport(plan: Plan, verdict: Verdict, look: Look): string {
  const { paint } = look;
  const table = (columns: readonly Column[]): string => {
    const rows = verdict.arms.map((row) => columns.map((column) => column.cell(row)));
    return paintTable(drawTable(columns, rows), paint);
  };
  const parts = [
    header(plan, verdict, look),
    table(speedColumns()),
    table(workColumns(verdict)),
    costColumns(verdict).length === 0 ? '' : table(costColumns(verdict)),
    outputColumns(verdict).length === 0 ? '' : table(outputColumns(verdict)),
    lines(verdict, look),
    background(verdict, look),
    bounds(verdict, look),
    components(verdict, look),
    calibration(verdict, look),
    decisions(verdict, look),
    warnings(verdict, look),
    paint.dim(fold(legend(verdict), look.width, '  ')),
  ];
  return `${inLook(parts.filter((part) => part !== '').join('\n\n'), look)}\n`;
}

export function summary(plan: Plan, verdict: Verdict): string[] {
  const done = verdict.runs.filter((run) => run.status === 'ok').length;
  return [
    `device ${verdict.device ?? 'n/a'}`,
    ...(verdict.subject === undefined ? [] : [verdict.subject]),
    `${plural(plan.blocks, 'block')}, ${plan.orderKind} order`,
    `${done} of ${plural(verdict.runs.length, 'run')}`,
    ...channelRates(verdict.ceilings),
  ];
}

function header(plan: Plan, verdict: Verdict, look: Look): string {
  const title = look.paint.bold(plan.protocol);
  return `${title}  ${verdict.runFolder}\n${fold(summary(plan, verdict).join(' · '), look.width, '  ')}`;
}

const WORDS: readonly (readonly [RegExp, 'green' | 'red' | 'yellow'])[] = [
  [/\b(faster|steadier)\b/g, 'green'],
  [/\bslower\b/g, 'red'],
  [/\b(inconclusive|L3|LX)\b/g, 'yellow'],
];

/** Colours come after the layout, so that they cannot shift a column. The first two lines are head and rule. */
function paintTable(table: string, paint: Paint): string {
  return table
    .split('\n')
    .map((line, index) => {
      if (index < 2) return paint.dim(line);
      return WORDS.reduce((text, [word, color]) => text.replace(word, (match) => paint[color](match)), line);
    })
    .join('\n');
}

/** What is said over all classes first, then each class. */
function lines(verdict: Verdict, look: Look): string {
  const named = namedLines(verdict);
  const width = Math.max(0, ...named.map(({ name }) => name.length));
  return named
    .map(({ name, line }) => {
      const text = fold(`${name.padEnd(width)}  ${line}`, look.width, ' '.repeat(width + 2));
      return text.replace(name, look.paint.bold(name));
    })
    .join('\n');
}

export interface NamedLine extends Pick<ArmClassVerdict, 'speed' | 'line'> {
  readonly name: string;
  /** What it is said of. */
  readonly rows: readonly ArmClassVerdict[];
}

export function namedLines({ arms, headlines }: Verdict): NamedLine[] {
  const compared = arms.filter((row) => row.speed !== 'baseline');
  return [
    ...headlines.map(({ arm, line, speed }) => ({
      name: `all classes · ${arm}`,
      line,
      speed,
      rows: arms.filter((row) => row.arm === arm),
    })),
    ...compared.map((row) => ({
      name: `${row.class} · ${row.arm}`,
      line: row.line,
      speed: row.speed,
      rows: [row],
    })),
  ];
}

/** What bounds each arm that anything is known of. */
export function boundLines({ bounds: all }: Verdict): NonNullable<Verdict['bounds']> {
  return (all ?? []).filter(({ line }) => line !== '');
}

function bounds(verdict: Verdict, look: Look): string {
  const all = boundLines(verdict);
  const width = Math.max(0, ...all.map(({ arm }) => arm.length));
  const texts = all.map(({ arm, line }) =>
    fold(`${arm.padEnd(width)}  ${line}`, look.width, ' '.repeat(width + 2)),
  );
  return texts.length === 0 ? '' : [look.paint.dim('what bounds each arm'), ...texts].join('\n');
}

function decisions(verdict: Verdict, look: Look): string {
  return decisionTexts(verdict)
    .map((text) => fold(text, look.width, '  '))
    .join('\n');
}

/** What ended the measurement early or left arms out. Looks that changed nothing are not told. */
export function decisionTexts({ decisions: all }: Verdict): string[] {
  return all.filter(({ stop, because }) => stop || because === 'screening').map(({ reason }) => reason);
}

function background(verdict: Verdict, look: Look): string {
  return backgroundTexts(verdict)
    .map((text) => fold(text, look.width, '  '))
    .join('\n');
}

/** What a background that the protocol asked for did, an arm and class at a time. */
export function backgroundTexts({ background: found }: Verdict): string[] {
  return (found?.lines ?? []).map(({ arm, class: name, line }) => `${name} · ${arm}: ${line}`);
}

function calibration({ calibration: found }: Verdict, look: Look): string {
  return found === undefined ? '' : fold(calibrationText(found), look.width, '  ');
}

function components(verdict: Verdict, look: Look): string {
  const text = componentText(verdict);
  return text === null ? '' : fold(text, look.width, '  ');
}

/** Where the noise comes from, so that one knows what to do about it; null when nothing is known of it. */
export function componentText({ components: all }: Verdict): string | null {
  const parts = all.flatMap(({ class: name, request, run, block }) =>
    run === null || block === null
      ? []
      : [
          `${name} ${percent(run)} between runs, ${percent(block)} between blocks${request === null ? '' : `, ${percent(request)} between requests of a run`}`,
        ],
  );
  return parts.length === 0 ? null : `spread: ${parts.join(' · ')}`;
}

function warnings({ warnings: all }: Verdict, look: Look): string {
  return all.map((text) => look.paint.yellow(fold(`! ${text}`, look.width, '  '))).join('\n');
}

/** What the numbers are, in the words of the method. */
export function legend(verdict: Verdict): string {
  const compared = verdict.arms.filter((row) => row.speed !== 'baseline').length;
  return [
    'tok/s: (tokens − 1) / (last − first token), a run at a time, geometric mean over blocks',
    `× base: paired by block; interval at the level at which ${decidedBy(verdict)} decides it (${share(1 - FAMILY_ALPHA).replace('.0', '')} over ${plural(compared, 'comparison')})`,
    ...(verdict.headlines.length === 0 ? [] : ['all classes: each with the same weight']),
    'MB: a million bytes',
    'host, file GB/s: what the rate asks of the measured bandwidths; binds: which takes longest',
    ...(verdict.arms.some(({ causes }) => causes !== undefined)
      ? ['draft, dense, CPU pool, file wait, other: milliseconds of a pass, which do not overlap']
      : []),
    ...(verdict.arms.some(({ joulesPerToken }) => joulesPerToken !== undefined) ? [ENERGY_NOTE] : []),
    'ceiling: bytes per token over the measured bandwidth of the channel that takes longest',
    "Δ tokens: answers up to the end token, less the baseline's · ppl, top-1: perplexity against the baseline and places with the same likeliest token, in fixed texts that were not measured",
    'Δln tok/s = Δln tok/pass − Δln ms/pass',
    'L0 same output, L1 same tokens by another path, L2 rounding, L3 changed, LX not verified',
  ].join(' · ');
}

/** What an energy is, wherever one is shown. */
export const ENERGY_NOTE =
  'J/token ≈: an estimate: sampled power of the GPUs times the time of the measured windows, prefill included, over all tokens';

/** The procedures that were used. */
function decidedBy({ arms }: Verdict): string {
  const methods = new Set(arms.flatMap(({ test }) => test?.method ?? []));
  if (methods.size === 2) return 'Dunnett’s test or, for own pairs, Holm’s';
  return methods.has('block model') ? 'Dunnett’s test' : 'Holm';
}
