// What a knob is, which values it takes and how a value becomes words of a command line. Knows no engine by name.

import { aliasNames, type KnobAlias, readName } from './aliases.ts';
import { nameHint } from './nearest.ts';
import type { Problem } from './problems.ts';
import { show } from './validate.ts';

export type KnobType = 'int' | 'number' | 'bool' | 'enum' | 'size' | 'string' | 'path';

/** What an engine's author declares that a knob does to the output. */
export type KnobEffect = 'exact' | 'rounding' | 'lossy' | 'unknown';

export type KnobValue = string | number | boolean;

export type Knobs = Readonly<Record<string, KnobValue>>;

/** Exactly one of `flag`, `switch`, `env` and `prefix` says where the value goes. */
export interface KnobSpec {
  readonly type: KnobType;
  /** `--slots`: becomes `--slots VALUE`; a bool becomes `--x on` or `--x off`. */
  readonly flag?: string;
  /** For a bool whose flag takes no value: present when true, absent when false. */
  readonly switch?: string;
  /** Environment variable; a bool becomes `1` or `0`. */
  readonly env?: string;
  /** Words in front of the command, with `{value}` filled in; a bool puts them there when true. */
  readonly prefix?: readonly string[];
  /** Of an enum all it takes; of a number or a size the words that it takes besides, such as auto. */
  readonly values?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  /** What the engine does when the knob is not given. Never passed on the command line. */
  readonly default?: KnobValue;
  /** Accepted wherever the knob's name is. */
  readonly aliases?: readonly KnobAlias[];
  readonly effect: KnobEffect;
  readonly summary: string;
  /** The test file that proves the effect, from the project's root. */
  readonly provenBy?: string;
}

export type KnobSpecs = Readonly<Record<string, KnobSpec>>;

/** Where a knob of an arm was written: at its name or at its value. */
export type KnobWhere = (name: string, part: 'key' | 'value') => string;

/** Bytes with a unit, a share, or a count of what is sized: 4288x. */
const SIZE = /^(\d+(\.\d+)?(%|KiB|MiB|GiB|TiB)|\d+x)$/;

/** What is wrong with a value for a knob, or undefined. */
export function valueProblem(spec: KnobSpec, value: unknown): { message: string; hint?: string } | undefined {
  if (typeof value === 'string' && spec.type !== 'enum' && spec.values?.includes(value)) return undefined;
  switch (spec.type) {
    case 'int':
    case 'number':
      return numberProblem(spec, value);
    case 'bool':
      if (typeof value === 'boolean' || value === 'on' || value === 'off') return undefined;
      return { message: `expected on or off, got ${show(value)}` };
    case 'enum': {
      const values = spec.values ?? [];
      if (values.includes(String(value))) return undefined;
      return { message: `unknown value ${show(value)}`, hint: nameHint(String(value), values) };
    }
    case 'size':
      return sizeProblem(spec, value);
    case 'string':
    case 'path':
      if (typeof value === 'string' && value !== '' && !value.includes('\0')) return undefined;
      if (spec.type === 'string' && typeof value === 'number') return undefined;
      return { message: `expected ${spec.type === 'path' ? 'a path' : 'text'}, got ${show(value)}` };
  }
}

function numberProblem(spec: KnobSpec, value: unknown): { message: string; hint?: string } | undefined {
  const wanted = [spec.type === 'int' ? 'a whole number' : 'a number', ...(spec.values ?? [])].join(' or ');
  if (
    typeof value !== 'number' ||
    !Number.isFinite(value) ||
    (spec.type === 'int' && !Number.isSafeInteger(value))
  ) {
    const quoted = typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value));
    return {
      message: `expected ${wanted}, got ${show(value)}`,
      ...(quoted ? { hint: 'write it without quotes' } : {}),
    };
  }
  const { min, max } = spec;
  if ((min === undefined || value >= min) && (max === undefined || value <= max)) return undefined;
  const range =
    min === undefined
      ? `at most ${max}`
      : max === undefined
        ? `at least ${min}`
        : `between ${min} and ${max}`;
  return { message: `must be ${range}, got ${value}` };
}

function sizeProblem(spec: KnobSpec, value: unknown): { message: string; hint?: string } | undefined {
  if (value === 0 || value === '0') return undefined;
  if (typeof value === 'number') {
    return {
      message: `${value} has no unit`,
      hint: `write a share or a size with its unit: ${value}% or ${value}MiB`,
    };
  }
  if (typeof value !== 'string' || !SIZE.test(value)) {
    const words = ['0', ...(spec.values ?? [])].join(' or ');
    return {
      message: `expected a size, got ${show(value)}`,
      hint: `such as 25%, 512MiB, 1.5GiB or ${words}`,
    };
  }
  const percent = value.endsWith('%') ? Number(value.slice(0, -1)) : 0;
  return percent > 100 ? { message: `must be at most 100%, got ${value}` } : undefined;
}

function normalise(spec: KnobSpec, value: KnobValue): KnobValue {
  if (spec.type === 'bool') return value === true || value === 'on';
  if (spec.type === 'int' || spec.type === 'number') return value;
  return String(value);
}

/**
 * Checks one arm's knobs against the engine's. Returns the values by the knobs' own names and in their normal form (`on` is
 * true, a size is text), and every problem with its position.
 */
export function validateKnobs(
  specs: KnobSpecs,
  knobs: Readonly<Record<string, unknown>>,
  where: KnobWhere,
  above = '',
): { readonly knobs: Knobs; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const values: Record<string, KnobValue> = {};
  const writtenAs = new Map<string, string>();
  for (const [name, written] of Object.entries(knobs)) {
    const path = above === '' ? name : `${above}.${name}`;
    const readings = readName(specs, name, written);
    if (readings.length === 0) {
      const hint = nameHint(name, [...Object.keys(specs), ...aliasNames(specs)]);
      problems.push({ where: where(name, 'key'), path, message: 'the engine has no such knob', hint });
    }
    for (const { knob, value, problem: misread } of readings) {
      const spec = specs[knob];
      if (spec === undefined) continue;
      const earlier = writtenAs.get(knob);
      writtenAs.set(knob, name);
      const problem = misread ?? valueProblem(spec, value);
      if (earlier !== undefined) {
        const message = `${earlier} has already set the knob ${knob}`;
        problems.push({ where: where(name, 'key'), path, message, hint: 'keep one of them' });
      } else if (problem !== undefined) problems.push({ where: where(name, 'value'), path, ...problem });
      // All its parts would be told of the same text.
      if (misread !== undefined) break;
      if (earlier === undefined && problem === undefined) values[knob] = normalise(spec, value as KnobValue);
    }
  }
  return { knobs: values, problems };
}

export interface RenderedKnob {
  readonly prefix: readonly string[];
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A valid value as words of the command line, an environment variable, or words in front of the command. */
export function renderKnob(spec: KnobSpec, value: KnobValue): RenderedKnob {
  const none: RenderedKnob = { prefix: [], argv: [], env: {} };
  const isOn = value === true || value === 'on';
  const isBool = spec.type === 'bool';
  if (spec.flag !== undefined)
    return { ...none, argv: [spec.flag, isBool ? (isOn ? 'on' : 'off') : String(value)] };
  if (spec.switch !== undefined) return isOn ? { ...none, argv: [spec.switch] } : none;
  if (spec.env !== undefined)
    return { ...none, env: { [spec.env]: isBool ? (isOn ? '1' : '0') : String(value) } };
  if (spec.prefix === undefined || (isBool && !isOn)) return none;
  return { ...none, prefix: spec.prefix.map((word) => word.replaceAll('{value}', () => String(value))) };
}

/** The settings an arm really runs with: what it sets, over what the engine does by itself. */
export function effectiveKnobs(specs: KnobSpecs, knobs: Knobs): Knobs {
  const defaults = Object.entries(specs).flatMap(([name, spec]): [string, KnobValue][] =>
    spec.default === undefined ? [] : [[name, normalise(spec, spec.default)]],
  );
  return { ...Object.fromEntries(defaults), ...knobs };
}

const UNITS: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };

/** One form for what means the same: 1GiB is 1024MiB, 25.0% is 25%, and 0 has no unit. */
function canonical(spec: KnobSpec, value: KnobValue): KnobValue {
  const [, digits, unit = ''] = /^([\d.]+)(%|[KMGT]iB)?$/.exec(String(value)) ?? [];
  if (spec.type !== 'size' || digits === undefined) return value;
  const size = Number(digits) * (UNITS[unit] ?? 1);
  return size === 0 ? 0 : unit === '%' ? `${size}%` : size;
}

/** The settings an arm really runs with, in a form in which equal settings are equal. */
export function canonicalKnobs(specs: KnobSpecs, knobs: Knobs): Knobs {
  const effective = effectiveKnobs(specs, knobs);
  const names = Object.keys(specs).filter((name) => effective[name] !== undefined);
  return Object.fromEntries(
    names.map((name) => [name, canonical(specs[name] as KnobSpec, effective[name] as KnobValue)]),
  );
}

/** Names of the knobs with a given effect whose effective value differs between an arm and the baseline. */
export function differingKnobs(specs: KnobSpecs, arm: Knobs, baseline: Knobs, effect: KnobEffect): string[] {
  const a = canonicalKnobs(specs, arm);
  const b = canonicalKnobs(specs, baseline);
  return Object.keys(specs).filter((name) => specs[name]?.effect === effect && a[name] !== b[name]);
}

/** Names of the knobs with a given effect that an arm turns away from what the engine does by itself. */
export function turnedKnobs(specs: KnobSpecs, arm: Knobs, effect: KnobEffect): string[] {
  return differingKnobs(specs, arm, {}, effect);
}
