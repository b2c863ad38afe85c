// The gate: a run against a stored baseline. Speed may not fall by a margin; everything without noise must be equal. Pure.

import { EXIT, type ExitCode } from '../errors.ts';
import type { ArmClassVerdict, Interval } from '../records/verdict.ts';
import { deepRounded } from '../stable-json.ts';
import { percent, plural, ratioParts } from '../verdict/lines.ts';
import { calmBlocks } from './calm-blocks.ts';
import { machineWords } from './machine-words.ts';
import { GATE_BLOCKS, speedRule } from './speed-rule.ts';
import { type ArmFacts, armFacts, type GateSide, keyDifferences, keyOf, rowOf } from './subject.ts';

export const EXACT_RULES = ['ids', 'prefill', 'passes', 'tokens-per-pass', 'lookups', 'memory'] as const;
export type ExactRule = (typeof EXACT_RULES)[number];
export type GateRule = 'tok/s' | ExactRule;

/** `allowed`: it would have failed, and was allowed by name. `unknown`: the baseline does not know it either. */
export type CheckOutcome = 'pass' | 'fail' | 'inconclusive' | 'missing' | 'allowed' | 'unknown';

export interface GateCheck {
  readonly arm: string;
  /** Null: of the arm as a whole. */
  readonly class: string | null;
  readonly rule: GateRule;
  readonly outcome: CheckOutcome;
  readonly text: string;
  readonly ratio: Interval | null;
}

export type GateOutcome = 'pass' | 'fail' | 'inconclusive' | 'unmeasured' | 'invalid' | 'refused';

export interface GateFinding {
  readonly outcome: GateOutcome;
  readonly exitCode: ExitCode;
  readonly reason: string;
  readonly run: string;
  readonly baseline: string;
  readonly margin: number;
  /** What may be concluded of the weights, as the engine said it; absent: anything. */
  readonly subject?: string;
  readonly checks: readonly GateCheck[];
}

/** By how much an exact rule may be missed; `Infinity`: it may be missed at all. */
export type Allowed = Readonly<Partial<Record<ExactRule, number>>>;

export interface GateOptions {
  readonly run: GateSide;
  readonly baseline: GateSide;
  readonly margin: number;
  readonly allow: Allowed;
}

const EXITS: Readonly<Record<GateOutcome, ExitCode>> = {
  pass: EXIT.pass,
  fail: EXIT.regression,
  inconclusive: EXIT.inconclusive,
  unmeasured: EXIT.couldNotMeasure,
  refused: EXIT.couldNotMeasure,
  invalid: EXIT.invalid,
};

export function judgeGate(options: GateOptions): GateFinding {
  const { run, baseline, margin } = options;
  const finish = (outcome: GateOutcome, reason: string, checks: readonly GateCheck[] = []): GateFinding => ({
    outcome,
    exitCode: EXITS[outcome],
    reason,
    run: run.name,
    baseline: baseline.name,
    margin,
    ...(run.verdict.subject === undefined ? {} : { subject: run.verdict.subject }),
    checks: checks.map(deepRounded),
  });
  const differences = keyDifferences(keyOf(run), keyOf(baseline));
  if (differences.length > 0) return finish('refused', `not comparable: ${differences.join('; ')}`);
  const invalid = [run, baseline].find(({ verdict }) => verdict.exitCode === EXIT.invalid);
  if (invalid !== undefined)
    return finish('invalid', `${invalid.name}: ${invalid.verdict.warnings[0] ?? 'is invalid'}`);
  const checks = baseline.plan.arms.flatMap((arm) => armChecks(options, arm.name));
  return finish(...overall(checks, margin), checks);
}

/** A certain regression comes before what is missing, and that before what is open. */
function overall(checks: readonly GateCheck[], margin: number): [GateOutcome, string] {
  const of = (outcome: CheckOutcome): readonly GateCheck[] =>
    checks.filter((check) => check.outcome === outcome);
  const told = (found: readonly GateCheck[]): string => {
    const more = found.length > 1 ? ` (and ${found.length - 1} more)` : '';
    const [first] = found;
    return first === undefined ? '' : `${checkName(first)}: ${first.text}${more}`;
  };
  for (const [outcome, word] of [
    ['fail', 'fail'],
    ['missing', 'unmeasured'],
    ['inconclusive', 'inconclusive'],
  ] as const) {
    if (of(outcome).length > 0) return [word, told(of(outcome))];
  }
  const speeds = of('pass').filter(({ rule }) => rule === 'tok/s').length;
  const exact = of('pass').length - speeds;
  const allowed = of('allowed').length === 0 ? '' : `; allowed: ${told(of('allowed'))}`;
  return [
    'pass',
    `tok/s not slower by ${percent(margin)} in ${plural(speeds, 'cell')}, ${plural(exact, 'exact rule')} kept${allowed}`,
  ];
}

export function checkName({ arm, class: name, rule }: GateCheck): string {
  return `${arm}${name === null ? '' : ` · ${name}`} · ${rule}`;
}

function armChecks(options: GateOptions, arm: string): GateCheck[] {
  const [own, base] = [armFacts(options.run, arm), armFacts(options.baseline, arm)];
  const classes = options.baseline.plan.workloads.flatMap(({ class: name }) =>
    classChecks(options, arm, name, [own, base]),
  );
  return [...classes, memoryCheck(options, arm, own, base)];
}

function classChecks(
  options: GateOptions,
  arm: string,
  className: string,
  [ownFacts, baseFacts]: readonly [ArmFacts, ArmFacts],
): GateCheck[] {
  const base = rowOf(options.baseline, arm, className);
  const own = rowOf(options.run, arm, className);
  const at = { arm, class: className };
  if (base === null || base.blocks === 0) {
    return [{ ...at, rule: 'tok/s', outcome: 'missing', text: 'the baseline has no such cell', ratio: null }];
  }
  if (own === null || own.blocks === 0) {
    return [{ ...at, rule: 'tok/s', outcome: 'missing', text: 'the run has no such cell', ratio: null }];
  }
  const pairs = base.perBlock.flatMap((block) => {
    const other = own.perBlock.find((each) => each.block === block.block);
    return other === undefined ? [] : [{ own: other, base: block }];
  });
  const isWhole = own.perBlock.length === base.perBlock.length;
  const perBlock = (of: (block: Block) => number | string | null): Sides =>
    pairs.map((pair) => [of(pair.own), of(pair.base)] as const);
  const texts = Object.keys(baseFacts.prefill).filter((key) => key.startsWith(`${className} `));
  const prefill = texts.map(
    (key) => [ownFacts.prefill[key] ?? null, baseFacts.prefill[key] ?? null] as const,
  );
  const exact = (rule: ExactRule, sides: Sides): GateCheck => ({
    ...at,
    ...exactCheck(rule, sides, options.allow),
  });
  return [
    speedCheck(at, pairs, options),
    exact(
      'ids',
      perBlock((block) => block.idsSha256),
    ),
    exact('prefill', prefill),
    exact(
      'passes',
      perBlock((block) => block.passes),
    ),
    ...(isWhole ? [exact('tokens-per-pass', [[own.tokensPerPass, base.tokensPerPass]])] : []),
    exact(
      'lookups',
      perBlock((block) => lookupText(block)),
    ),
  ];
}

type Block = ArmClassVerdict['perBlock'][number];
/** The run's value, then the baseline's. */
type Sides = readonly (readonly [number | string | null, number | string | null])[];

function lookupText({ lookups }: Block): string | null {
  const parts = Object.entries(lookups);
  return parts.some(([, value]) => value === null)
    ? null
    : parts.map(([name, value]) => `${value} ${name}`).join(', ');
}

function speedCheck(
  at: { readonly arm: string; readonly class: string },
  pairs: readonly { readonly own: Block; readonly base: Block }[],
  { run, baseline, margin }: GateOptions,
): GateCheck {
  const { calm, words: beside } = calmBlocks(pairs, run, baseline);
  const rates = calm.map(({ own, base }) => ({ run: own.tokPerSec, baseline: base.tokPerSec }));
  const rule = speedRule(rates, margin);
  const check = (outcome: CheckOutcome, text: string): GateCheck => ({
    ...at,
    rule: 'tok/s',
    outcome,
    text: `${text}${beside}${machineWords(run, baseline)}`,
    ratio: rule.ratio,
  });
  if (calm.length === 0 && pairs.length > 0) return check('inconclusive', 'no block was left alone');
  if (rule.blocks === 0) return check('missing', 'no block has a rate on both sides');
  const few =
    rule.blocks < GATE_BLOCKS ? `; ${plural(rule.blocks, 'block')}, a gate needs ${GATE_BLOCKS}` : '';
  if (rule.ratio === null) return check('inconclusive', `one block has no spread${few}`);
  const { ratio, interval } = ratioParts(rule.ratio);
  const words = {
    pass: `not slower by ${percent(margin)}`,
    fail: `slower by more than ${percent(margin)}`,
    inconclusive: `neither within ${percent(margin)} nor beyond it`,
  }[rule.outcome];
  return check(rule.outcome, `${ratio} (${interval}), ${words}${few}`);
}

type Exact = Pick<GateCheck, 'rule' | 'outcome' | 'text' | 'ratio'>;

function exactCheck(rule: ExactRule, sides: Sides, allow: Allowed): Exact {
  const finish = (outcome: CheckOutcome, text: string): Exact => ({ rule, outcome, text, ratio: null });
  const known = sides.filter(([, base]) => base !== null);
  if (known.length === 0) return finish('unknown', 'the baseline does not know it');
  if (known.some(([own]) => own === null))
    return finish('missing', 'the baseline knows it, the run does not');
  const changed = known.filter(([own, base]) => own !== base);
  const [first] = changed;
  if (first === undefined) return finish('pass', 'equal');
  const [own, base] = first.map((value) => (typeof value === 'string' ? shortened(value) : String(value)));
  const text = `${own} instead of ${base}${changed.length > 1 ? `, in ${changed.length} of ${known.length}` : ''}`;
  const limit = allow[rule];
  const isAllowed = limit !== undefined && changed.every(([a, b]) => moved(a, b) <= limit);
  return finish(isAllowed ? 'allowed' : 'fail', text);
}

const shortened = (value: string): string => (/^[0-9a-f]{64}$/.test(value) ? value.slice(0, 12) : value);

function moved(own: number | string | null, base: number | string | null): number {
  if (typeof own !== 'number' || typeof base !== 'number' || base === 0) return Number.POSITIVE_INFINITY;
  return Math.abs(own / base - 1);
}

/** What an engine takes by its own word at ready. Less of it is no regression. */
function memoryCheck({ allow }: GateOptions, arm: string, own: ArmFacts, base: ArmFacts): GateCheck {
  const names = Object.keys(base.sizes).sort();
  const at = { arm, class: null, rule: 'memory', ratio: null } as const;
  if (names.length === 0) return { ...at, outcome: 'unknown', text: 'the baseline does not know it' };
  const missing = names.find((name) => own.sizes[name] === undefined);
  if (missing !== undefined) return { ...at, outcome: 'missing', text: `the run does not say ${missing}` };
  const grown = names.filter((name) => (own.sizes[name] ?? 0) > (base.sizes[name] ?? 0));
  if (grown.length === 0) return { ...at, outcome: 'pass', text: `no more of ${names.join(', ')}` };
  const text = grown.map((name) => `${name} ${own.sizes[name]} instead of ${base.sizes[name]}`).join(', ');
  const limit = allow.memory;
  const isAllowed =
    limit !== undefined &&
    grown.every((name) => moved(own.sizes[name] ?? null, base.sizes[name] ?? null) <= limit);
  return { ...at, outcome: isAllowed ? 'allowed' : 'fail', text };
}
