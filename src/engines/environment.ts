// Owns what an engine inherits of Rota's environment: everything but the variables that set a knob. Pure.

import type { KnobSpecs } from '../schema/knobs.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Only such names are read from an environment: a bare word in a user's shell may mean anything. */
const VARIABLE = /^[A-Z][A-Z0-9_]*$/;

/** Variables by which an engine can be told the value of a knob, each with the knobs it tells. */
export function knobVariables(specs: KnobSpecs): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [knob, { env, aliases }] of Object.entries(specs)) {
    const told = (aliases ?? []).map(({ name }) => name).filter((name) => VARIABLE.test(name));
    const names = new Set([...(env === undefined ? [] : [env]), ...told]);
    for (const name of names) found.set(name, [...(found.get(name) ?? []), knob]);
  }
  return found;
}

/** Those that are set where Rota runs: without a word every arm would have them, whatever the plan says of its knobs. */
export function inheritedVariables(specs: KnobSpecs, environment: Environment): string[] {
  return [...knobVariables(specs).keys()].filter((name) => environment[name] !== undefined).sort();
}

export function withoutKnobs(specs: KnobSpecs, environment: Environment): Record<string, string | undefined> {
  const kept = { ...environment };
  for (const name of inheritedVariables(specs, environment)) delete kept[name];
  return kept;
}

/** One line for whoever set them, or null. */
export function inheritedNotice(specs: KnobSpecs, environment: Environment): string | null {
  const names = inheritedVariables(specs, environment);
  if (names.length === 0) return null;
  const knobs = knobVariables(specs);
  const told = names.map((name) => `${name} (${knobs.get(name)?.join(', ') ?? ''})`).join(', ');
  return `kept from the engine, for only an arm sets knobs: ${told} of the environment`;
}
