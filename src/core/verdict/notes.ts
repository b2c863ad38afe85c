// What stands behind the sentence about a speed: how it was judged, wild blocks, spread between runs; and the line over all classes.
// Composes words, decides nothing.

import type { Headline, Interval, OutputVerdict, RobustEstimate } from '../records/verdict.ts';
import type { HeadlineFinding } from './headline.ts';
import { ratioParts, verdictLine } from './lines.ts';
import type { OutputFinding } from './output.ts';
import type { SpeedFinding } from './speed.ts';
import type { SpreadFinding } from './spread.ts';

export interface NoteFacts {
  readonly speed: SpeedFinding;
  readonly robust: RobustEstimate | null;
  readonly spread: SpreadFinding | undefined;
  readonly baseSpread: SpreadFinding | undefined;
  readonly steadier: boolean;
}

/** Empty for most comparisons; each note begins with a semicolon. */
export function speedNotes({ speed, robust, spread, baseSpread, steadier }: NoteFacts): string {
  const own = spread?.spread?.sd ?? null;
  const base = baseSpread?.spread?.sd ?? null;
  const isSmaller = spread?.isSmaller === true && own !== null && base !== null;
  const word = steadier ? 'steadier: runs' : 'its runs';
  return [
    isSmaller ? `; ${word} spread by ${share(own ?? 0)} instead of ${share(base ?? 0)}` : '',
    speed.unequal ? '; judged by its own pairs, because the arms spread unequally' : '',
    robust?.outlierDriven === true
      ? `; driven by single blocks: the Hodges–Lehmann estimate is ${ratioParts(robust.ratio).ratio}`
      : '',
  ].join('');
}

/** Two digits, however small. */
function share(value: number): string {
  return `${Number((100 * value).toPrecision(2))} %`;
}

const GRAVITY: readonly OutputVerdict[] = ['L0', 'L1', 'L2', 'LX', 'L3'];

/** The gravest finding of the classes: one changed class is a changed output. */
export function worstOutput(findings: readonly OutputFinding[]): OutputFinding {
  return findings.reduce((worst, each) =>
    GRAVITY.indexOf(each.output) > GRAVITY.indexOf(worst.output) ? each : worst,
  );
}

export function headlineOf(
  { speed, dependsOnContent, interactionP, range }: HeadlineFinding,
  outputs: readonly OutputFinding[],
  margin: number,
): Headline {
  const output = worstOutput(outputs);
  const text =
    dependsOnContent && range !== null
      ? `${OUTPUT_START[output.output]}the speed depends on content: ${sideOf(range[0])} to ${sideOf(range[1])}; see each class`
      : verdictLine(output, speed, margin, null);
  return {
    arm: speed.arm,
    speed: speed.speed,
    ratio: speed.ratio,
    dependsOnContent,
    interactionP,
    range: range ?? [],
    line: text,
  };
}

const OUTPUT_START: Readonly<Record<OutputVerdict, string>> = {
  L0: '',
  L1: '',
  L2: '',
  L3: 'changed output; ',
  LX: 'output not verified; ',
};

function sideOf(side: { readonly class: string; readonly ratio: number }): string {
  const flat: Interval = [side.ratio, side.ratio, side.ratio];
  return `${ratioParts(flat).ratio} in ${side.class}`;
}
