// Arms and the reference of `rota score`, from words of the command line. Owns their spelling; values are checked by the schema.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { UserError } from '../core/errors.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import { canonicalKnobs, type Knobs, turnedKnobs } from '../schema/knobs.ts';
import type { ProtocolModel } from '../schema/override.ts';
import { knobArguments, modelArgument } from './arguments.ts';

/** The arm that sets no knob of its own. */
export const EXACT = 'exact';

export interface NamedKnobs {
  readonly name: string;
  readonly knobs: Knobs;
}

/** What every engine of the scoring gets. A lossy one here would make `exact` a lie. */
export function commonKnobs(descriptor: EngineDescriptor, words: readonly string[]): Knobs {
  const knobs = knobArguments(descriptor, words);
  const [lossy] = turnedKnobs(descriptor.knobs, knobs, 'lossy');
  if (lossy === undefined) return knobs;
  throw new UserError(`${lossy} is lossy, so it cannot be common to all`, {
    where: '-k',
    hint: `give it to an arm: --arm ${lossy}=…`,
  });
}

/** `exact`, or `knob=value,knob=value` by the knobs' names or their families' names for them. */
export function armArgument(
  descriptor: EngineDescriptor,
  word: string,
  common: Knobs,
  where: string,
): NamedKnobs {
  if (word === EXACT) return { name: word, knobs: common };
  // A value may hold commas, as a list of CPUs does.
  const parts = word.split(/,(?=[A-Za-z_][\w-]*=)/);
  const hint = `write ${EXACT}, or NAME=VALUE with commas between, such as route-bias=1.0`;
  return { name: word, knobs: { ...common, ...knobArguments(descriptor, parts, where, hint) } };
}

/** Two names of one setting would be shown as two findings. */
export function armArguments(
  descriptor: EngineDescriptor,
  words: readonly string[],
  common: Knobs,
): readonly NamedKnobs[] {
  const seen = new Map<string, string>();
  return words.map((word) => {
    const arm = armArgument(descriptor, word, common, '--arm');
    const key = JSON.stringify(canonicalKnobs(descriptor.knobs, arm.knobs));
    const earlier = seen.get(key);
    if (earlier !== undefined) {
      throw new UserError(`${word} is the same setting as ${earlier}`, {
        where: '--arm',
        hint: 'keep one of them',
      });
    }
    seen.set(key, word);
    return arm;
  });
}

export type ReferenceWord = { readonly model: ProtocolModel } | { readonly arm: NamedKnobs };

/** The bundled model of a few bits has its weights as they were trained beside it; of another model only itself is known. */
export function defaultReference(model: ProtocolModel): string {
  return 'bundled' in model && model.form !== 'teacher' ? `${model.bundled}:teacher` : EXACT;
}

/** A file or folder, a model that Rota makes, or an arm of the model itself. */
export function referenceArgument(
  descriptor: EngineDescriptor,
  word: string,
  common: Knobs,
  cwd: string,
): ReferenceWord {
  const isArm =
    word === EXACT || (word.includes('=') && !word.startsWith('synth:') && !existsSync(resolve(cwd, word)));
  return isArm
    ? { arm: armArgument(descriptor, word, common, '--reference') }
    : { model: modelArgument(word) };
}
