// Owns the way from an arm's knobs to a command line and environment. Starts nothing and checks no file.

import path from 'node:path';
import { type TwinCandidate, twinArms } from '../core/design/twins.ts';
import { UserError } from '../core/errors.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import { type KnobSpec, type Knobs, renderKnob } from '../schema/knobs.ts';

export interface ResolvedCommand {
  readonly argv: readonly string[];
  /** What the knobs set; the rest of the environment is inherited, other variables of knobs excepted. */
  readonly env: Readonly<Record<string, string>>;
}

export type PlaceholderValues = Readonly<Record<string, string | undefined>>;

function fillIn(word: string, values: PlaceholderValues, engine: string): string {
  return word.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) {
      const known = Object.keys(values).map((key) => `{${key}}`);
      throw new UserError(`the placeholder {${name}} of the command has no value`, {
        where: `engines/${engine}.yaml`,
        hint: `placeholders with a value here: ${known.join(', ')}`,
      });
    }
    return value;
  });
}

/** A knob's words in front may name a program beside the engine's own. */
function inFolder(spec: KnobSpec, { binary }: PlaceholderValues, engine: string): KnobSpec {
  if (spec.prefix === undefined) return spec;
  const values = { value: '{value}', ...(binary === undefined ? {} : { folder: path.dirname(binary) }) };
  return { ...spec, prefix: spec.prefix.map((word) => fillIn(word, values, engine)) };
}

/** Flags follow the command in the order of the descriptor, whatever the order they were written in. */
export function resolveCommand(
  descriptor: EngineDescriptor,
  knobs: Knobs,
  values: PlaceholderValues,
): ResolvedCommand {
  const prefix: string[] = [];
  const flags: string[] = [];
  const env: Record<string, string> = {};
  for (const [name, spec] of Object.entries(descriptor.knobs)) {
    const value = knobs[name];
    if (value === undefined) continue;
    const rendered = renderKnob(inFolder(spec, values, descriptor.name), value);
    prefix.push(...rendered.prefix);
    flags.push(...rendered.argv);
    Object.assign(env, rendered.env);
  }
  const command = descriptor.command.map((word) => fillIn(word, values, descriptor.name));
  return { argv: [...prefix, ...command, ...flags], env };
}

/** Two arms that are the same would be compared with themselves, and any "difference" would be noise. */
export function refuseEqualArms(arms: readonly TwinCandidate[], where: (arm: string) => string): void {
  const [twins] = twinArms(arms);
  if (twins === undefined) return;
  const { first, second, by } = twins;
  const message =
    by === 'command'
      ? `resolves to the same command line and environment as ${first}`
      : `has the settings of ${first} in other words: what differs is a default that is spelt out, or a unit`;
  throw new UserError(`arms.${second}: ${message}`, {
    where: where(second),
    hint: 'change a knob of one of them, or remove one',
  });
}
