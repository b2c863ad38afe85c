// One sentence for a person: what an arm did to output and speed in one class. Composes words, decides nothing.

import type { Interval, OutputVerdict } from '../records/verdict.ts';
import type { OutputFinding } from './output.ts';
import { sightOf } from './sight.ts';
import type { SpeedFinding } from './speed.ts';

/** `2.31×` and `2.10–2.54`: two decimals, more when the interval is too narrow to be seen with them. */
export function ratioParts([low, mid, high]: Interval): {
  readonly ratio: string;
  readonly interval: string;
} {
  const width = high - low;
  const decimals = width === 0 || width >= 0.02 ? 2 : width >= 0.002 ? 3 : 4;
  // Two blocks on a loud machine give bounds with sixteen digits: all they say is that nothing is known.
  const text = (value: number): string => (value > 1000 ? '>1000' : value.toFixed(decimals));
  return { ratio: `${text(mid)}×`, interval: `${text(low)}–${text(high)}` };
}

export function percent(share: number): string {
  const value = 100 * share;
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, '')} %`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

export function pText(p: number): string {
  return p < 0.001 ? 'p < 0.001' : `p ${p.toFixed(3)}`;
}

/** The first few, then how many more. */
export function listed(names: readonly string[], between = ', '): string {
  const shown = names.slice(0, 3).join(between);
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

/** `problem`: why there is no rate, when there is none. */
export function verdictLine(
  output: OutputFinding,
  speed: SpeedFinding,
  margin: number,
  problem: string | null,
): string {
  if (speed.ratio === null) return `${OUTPUT[output.output]}; ${unmeasured(speed, problem)}${why(output)}`;
  const { ratio, interval } = ratioParts(speed.ratio);
  const small = Math.abs(speed.ratio[1] - 1) < margin ? `, less than the margin of ${percent(margin)}` : '';
  return `${sentence(output.output, speed, `${ratio}`, interval, margin)}${
    speed.speed === 'faster' || speed.speed === 'slower' ? small : ''
  }${why(output)}`;
}

const OUTPUT: Readonly<Record<OutputVerdict, string>> = {
  L0: 'same output',
  L1: 'same tokens by another path',
  L2: 'output differs by rounding only',
  L3: 'changed output',
  LX: 'output not verified',
};

function sentence(
  output: OutputVerdict,
  speed: SpeedFinding,
  ratio: string,
  interval: string,
  margin: number,
): string {
  const isChanged = output === 'L3';
  const range = `(${interval})`;
  switch (speed.speed) {
    case 'faster':
      if (isChanged) return `changed output and ${ratio} faster ${range}: a trade, not a win`;
      return `${OUTPUT[output]}, ${ratio} faster ${range}`;
    case 'slower':
      if (isChanged) return `changed output and slower: ${ratio} ${range}`;
      return `${OUTPUT[output]}, slower: ${ratio} ${range}`;
    case 'equivalent':
      if (isChanged) return `changed output at the same speed: ${ratio} ${range}`;
      return `${OUTPUT[output]}, equivalent speed: ${ratio} ${range} is within ${percent(margin)}`;
    case 'non-inferior':
      return `${OUTPUT[output]}, not slower by ${percent(margin)} or more: ${ratio} ${range}`;
    case 'inconclusive':
      return `${OUTPUT[output]}; speed inconclusive: ${ratio} ${range}${couldHaveSeen(speed, margin)}`;
  }
}

function couldHaveSeen({ blocks, test }: SpeedFinding, margin: number): string {
  const { detectable, needed } = test === null ? { detectable: null, needed: null } : sightOf(test, margin);
  if (detectable === null) return '';
  const more =
    needed === null ? 'reduce the noise first' : `${percent(margin)} needs about ${plural(needed, 'block')}`;
  const sight =
    detectable > 1 ? 'cannot tell a factor of two from noise here' : `can see ${percent(detectable)}`;
  return `; ${plural(blocks, 'block')} ${sight}, ${more}`;
}

function unmeasured({ blocks }: SpeedFinding, problem: string | null): string {
  if (problem !== null) return `speed not measured: ${problem}`;
  if (blocks === 1) return 'speed inconclusive: one block has no spread';
  return 'speed not measured: no block has both this arm and the baseline';
}

/** A change and a doubt are explained; sameness explains itself. */
function why({ output, reason }: OutputFinding): string {
  return output === 'LX' ? ` (${reason})` : '';
}
