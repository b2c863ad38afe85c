// The names that an engine's own family has for its knobs, and what is written under such a name as a value of the knob.

import type { KnobSpec, KnobSpecs, KnobValue } from './knobs.ts';
import { nameHint } from './nearest.ts';

/** A name of the engine's family, most often an environment variable, for a knob. */
export interface KnobAlias {
  readonly name: string;
  /** Where the family counts otherwise: `STRATA_NO_LARGEPAGES=1` means huge pages off. */
  readonly values?: Readonly<Record<string, KnobValue>>;
  /** Where one variable sets several knobs: the group of this expression is the part that belongs to this one. */
  readonly pattern?: string;
  /** The pattern in a person's words: `FILE:K`. */
  readonly form?: string;
}

interface Reading {
  readonly knob: string;
  readonly value: unknown;
  /** What is wrong with what was written, when it says nothing for the knob. */
  readonly problem?: { readonly message: string; readonly hint?: string };
}

export function aliasNames(specs: KnobSpecs): string[] {
  return [...new Set(Object.values(specs).flatMap((spec) => (spec.aliases ?? []).map(({ name }) => name)))];
}

/** The knobs that a name stands for, with what each of them gets. Empty when nothing is called so. */
export function readName(specs: KnobSpecs, name: string, value: unknown): Reading[] {
  if (Object.hasOwn(specs, name)) return [{ knob: name, value }];
  return Object.entries(specs).flatMap(([knob, spec]) =>
    (spec.aliases ?? [])
      .filter((alias) => alias.name === name)
      .map((alias) => ({ knob, ...readAlias(spec, alias, value) })),
  );
}

function readAlias(spec: KnobSpec, alias: KnobAlias, value: unknown): Omit<Reading, 'knob'> {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return { value };
  const text = String(value);
  if (alias.values !== undefined) {
    const mapped = Object.hasOwn(alias.values, text) ? alias.values[text] : undefined;
    if (mapped !== undefined) return { value: mapped };
    const hint = nameHint(text, Object.keys(alias.values));
    return { value, problem: { message: `unknown value ${JSON.stringify(text)}`, hint } };
  }
  if (alias.pattern === undefined) return { value: fromEnvironment(spec, value) };
  const part = new RegExp(alias.pattern).exec(text)?.[1];
  if (part !== undefined) return { value: fromEnvironment(spec, part) };
  return {
    value,
    problem: { message: `${JSON.stringify(text)} is not of the form ${alias.form ?? alias.pattern}` },
  };
}

/** The environment knows text only: there a number is its digits, and on is 1. */
function fromEnvironment(spec: KnobSpec, value: KnobValue): KnobValue {
  if (typeof value === 'boolean') return value;
  const text = String(value).trim();
  if (spec.type === 'bool') return text === '1' ? true : text === '0' ? false : value;
  const isNumeric = spec.type === 'int' || spec.type === 'number';
  return isNumeric && text !== '' && Number.isFinite(Number(text)) ? Number(text) : value;
}

/** What is wrong with the aliases of an engine's knobs, by the path below `knobs`. */
export function aliasContradictions(specs: KnobSpecs): [(string | number)[], string][] {
  const found: [(string | number)[], string][] = [];
  const owners = new Map<string, { readonly knob: string; readonly isPart: boolean }>();
  const variables = new Map(
    Object.entries(specs).flatMap(([knob, { env }]) => (env === undefined ? [] : [[env, knob] as const])),
  );
  for (const [knob, spec] of Object.entries(specs)) {
    for (const [index, { name, pattern }] of (spec.aliases ?? []).entries()) {
      const at = [knob, 'aliases', index];
      const variableOf = variables.get(name) ?? knob;
      const owner = owners.get(name);
      const isPart = pattern !== undefined;
      if (Object.hasOwn(specs, name)) found.push([at, `${name} is the name of a knob`]);
      else if (variableOf !== knob) found.push([at, `${name} already belongs to the knob ${variableOf}`]);
      else if (owner?.knob === knob) found.push([at, `${name} is given twice`]);
      else if (owner !== undefined && !(isPart && owner.isPart))
        found.push([at, `${name} already is an alias of the knob ${owner.knob}`]);
      owners.set(name, { knob, isPart });
    }
  }
  return found;
}
