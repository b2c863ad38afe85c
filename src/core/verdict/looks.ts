// When to stop, and which arms to leave out: decided after blocks that the plan named before anything ran. Reads rates, no clock.

import type { Decision } from '../records/journal.ts';
import type { Plan } from '../records/plan.ts';
import { blockModel } from '../stats/block-model.ts';
import { lookLevels } from '../stats/spending.ts';
import { spreadBound } from '../stats/spread.ts';
import { tQuantile } from '../stats/student.ts';
import { percent, plural } from './lines.ts';
import { completePart, logRatios, type RateTable } from './rates.ts';
import { sightOf } from './sight.ts';
import { FAMILY_ALPHA, judgeSpeed, type SpeedFinding } from './speed.ts';

/** Blocks whose rates may be in a claim: those after the screening, which chose what is claimed. */
export function claimBlocks(plan: Plan, blocks: number): number {
  return Math.max(0, blocks - (plan.sweep?.screen ?? 0));
}

/** What of the family's error may be used after so many blocks of the claim; all of it without looks. */
export function spendAfter(plan: Plan, blocks: number): (alpha: number) => number {
  if (plan.stop === undefined) return (alpha) => alpha;
  const { looks } = plan.stop;
  const last = looks.at(-1) ?? blocks;
  const shares = looks.map((look) => look / last);
  // Between two looks nothing more may be used than at the one before; before the first no more than at it.
  const index = Math.max(
    0,
    looks.findLastIndex((look) => look <= blocks),
  );
  return (alpha) => lookLevels(shares, alpha)[index] ?? alpha;
}

/** Arms that were screened out, and after which block. */
export function leftOutArms(decisions: readonly Decision[]): Map<string, Decision> {
  return new Map(decisions.flatMap((decision) => decision.leftOut.map((arm) => [arm, decision] as const)));
}

/**
 * What is decided after a block; null where the plan has no look. Pure in plan and rates, and deaf to anything else, so that a
 * resumed session decides the same.
 * @param tables rates of the blocks that count after this block: of the screening, or of the claim so far
 */
export function decideAfter(plan: Plan, block: number, tables: readonly RateTable[]): Decision | null {
  if (block === plan.sweep?.screen) return screen(plan, block, tables);
  const blocks = claimBlocks(plan, block);
  const { looks = [] } = plan.stop ?? {};
  const isLook = looks.includes(blocks) && blocks < (looks.at(-1) ?? 0);
  return isLook ? look(plan, block, tables) : null;
}

type State = Exclude<Decision['because'], 'screening'>;

function look(plan: Plan, block: number, tables: readonly RateTable[]): Decision {
  const blocks = claimBlocks(plan, block);
  const findings = judgeSpeed(tables, { margin: plan.margin, spend: spendAfter(plan, blocks) });
  const last = plan.stop?.looks.at(-1) ?? blocks;
  const judged = findings.filter(({ blocks: measured }) => measured > 0);
  const states = judged.map((finding) =>
    stateOf(finding, { margin: plan.margin, precision: plan.stop?.precision ?? null, last }),
  );
  const open = states.filter((state) => state === 'open').length;
  // An arm that never ran cannot be decided and must not keep the others running.
  if (open > 0 || judged.length === 0) {
    const reason = `${plural(open, 'comparison')} of ${states.length} still open after ${plural(blocks, 'block')}`;
    return { afterBlock: block, stop: false, because: 'open', leftOut: [], reason };
  }
  const order = ['difference', 'precision', 'equivalence', 'futility'] as const;
  const because = order.find((state) => states.includes(state)) ?? 'futility';
  const words = order.flatMap((state) => wordsOf(state, states, judged, plan.margin));
  return {
    afterBlock: block,
    stop: true,
    because,
    leftOut: [],
    reason: `stopped after ${blocks} of ${plural(last, 'block')}: ${words.join('; ')}`,
  };
}

interface LookRules {
  readonly margin: number;
  readonly precision: number | null;
  readonly last: number;
}

function stateOf({ speed, ratio, test }: SpeedFinding, { margin, precision, last }: LookRules): State {
  if (ratio === null || test === null) return 'open';
  const half = Math.log(ratio[2] / ratio[0]) / 2;
  if (precision !== null && Math.expm1(half) <= precision) return 'precision';
  if (precision === null && (speed === 'faster' || speed === 'slower')) return 'difference';
  if (speed === 'equivalent') return 'equivalence';
  if (speed === 'faster' || speed === 'slower') return 'open';
  // The spread may be smaller than it showed: its lower bound at one-sided 80 %, and the error as if this were the only comparison.
  const sd = spreadBound(test.sd, test.df, 0.8);
  const df = (test.df / (test.n - 1)) * (last - 1);
  const projected = (tQuantile(1 - FAMILY_ALPHA / 2, df) * sd) / Math.sqrt(last);
  return projected > Math.log1p(margin) && Math.abs(test.mean) < projected ? 'futility' : 'open';
}

function wordsOf(
  state: State,
  states: readonly State[],
  findings: readonly SpeedFinding[],
  margin: number,
): string[] {
  const found = findings.filter((_, index) => states[index] === state);
  if (found.length === 0) return [];
  const names = `${plural(found.length, 'comparison')}`;
  switch (state) {
    case 'difference':
      return [`${names} decided`];
    case 'precision':
      return [`${names} as exact as was asked for`];
    case 'equivalence':
      return [`${names} equivalent within ${percent(margin)}`];
    case 'futility':
      return [`${names} cannot be decided at this noise${neededBy(found, margin)}`];
    case 'open':
      return [];
  }
}

function neededBy(findings: readonly SpeedFinding[], margin: number): string {
  const needed = findings.map(({ test }) => (test === null ? null : sightOf(test, margin).needed));
  const known = needed.filter((each) => each !== null);
  if (known.length < needed.length) return ': reduce the noise first';
  return `: ${percent(margin)} needs about ${plural(Math.max(...known), 'block')}`;
}

/** One-sided: an arm is kept while it may still be faster by the margin. */
const SCREEN_LEVEL = 0.1;

function screen(plan: Plan, block: number, tables: readonly RateTable[]): Decision {
  const bounds = plan.arms
    .filter(({ name }) => name !== plan.baseline)
    .map(({ name }) => ({ name, bound: upperBound(name, tables) }));
  const leftOut = bounds.filter(({ bound }) => bound !== null && bound < 1 + plan.margin);
  const isNoneLeft = leftOut.length === bounds.length;
  const texts = leftOut.map(({ name, bound }) => `${name} at most ${(bound ?? 0).toFixed(3)}×`);
  const left = leftOut.length === 0 ? 'no arm is left out' : `left out: ${texts.join(', ')}`;
  return {
    afterBlock: block,
    stop: isNoneLeft,
    because: 'screening',
    leftOut: leftOut.map(({ name }) => name),
    reason: `screened in ${plural(block, 'block')}: ${left} (upper bound at ${percent(1 - SCREEN_LEVEL)})`,
  };
}

/** The largest upper bound of the ratio in any class; null where an arm has no rates to be judged by. */
function upperBound(arm: string, tables: readonly RateTable[]): number | null {
  const bounds = tables.map((table) => {
    const { columns, rows } = completePart(table);
    const index = table.arms.indexOf(arm);
    if (rows.length < 2 || columns.length < 2 || !columns.includes(index)) return null;
    const { error, df } = blockModel(rows);
    const differences = logRatios(table, index);
    const mean = differences.reduce((sum, value) => sum + value, 0) / differences.length;
    return Math.exp(mean + tQuantile(1 - SCREEN_LEVEL, df) * Math.sqrt((2 * error) / rows.length));
  });
  return bounds.includes(null) ? null : Math.max(...bounds.filter((bound) => bound !== null));
}
