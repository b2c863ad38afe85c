// Words of the command line as values. Owns the messages for words that are none.
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { UserError } from '../core/errors.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import { type KnobSpec, type Knobs, validateKnobs } from '../schema/knobs.ts';
import type { ProtocolModel } from '../schema/override.ts';
import { throwProblems } from '../schema/problems.ts';

/** Engines count in 32 bits. */
const LARGEST = 2 ** 31 - 1;

export function countArgument(word: string): number {
  return wholeArgument(1, LARGEST)(word);
}

export function wholeArgument(min: number, max: number): (word: string) => number {
  return (word) => {
    const isWhole = /^\d+$/.test(word);
    if (isWhole && Number(word) >= min && Number(word) <= max) return Number(word);
    // Where the end is only what a machine can count, it is told to who went beyond it.
    const end = max < LARGEST || (isWhole && Number(word) > max) ? ` to ${max}` : '';
    throw new InvalidArgumentError(`expected a whole number from ${min}${end}`);
  };
}

/** `above`: the smallest value is out of range itself. */
export function numberArgument(min: number, max: number, above = false): (word: string) => number {
  return (word) => {
    const value = Number(word);
    const isLow = above ? value <= min : value < min;
    if (word.trim() !== '' && Number.isFinite(value) && !isLow && value <= max) return value;
    throw new InvalidArgumentError(`expected a number ${above ? 'above' : 'from'} ${min} to ${max}`);
  };
}

/** What a model's argument may be, for help texts. */
export const MODEL_WORDS = 'a path, mini, mini:teacher or synth:CONFIG:SEED';

/** A path, `mini[:teacher]` (a file of that name is ./mini), or `synth:CONFIG:SEED[:EXPERT-FORMAT]`. */
export function modelArgument(word: string): ProtocolModel {
  if (word === '')
    throw new UserError('the model has no name', { hint: 'write a path, mini, or synth:mini-s:1' });
  if (word === 'mini') return { bundled: 'mini' };
  if (word === 'mini:teacher') return { bundled: 'mini', form: 'teacher' };
  if (!word.startsWith('synth:')) return { path: word };
  const [, config = '', seed = '1', expertFormat, ...rest] = word.split(':');
  if (config === '' || !/^\d+$/.test(seed) || rest.length > 0) {
    throw new UserError(`"${word}" is no synthetic model`, {
      hint: 'write synth:CONFIG:SEED, such as synth:mini-s:1',
    });
  }
  return { synth: { config, seed: Number(seed), ...(expertFormat === undefined ? {} : { expertFormat }) } };
}

/** A number where the knob is one, so that `-k threads=2` and `threads: 2` of a file are the same. */
export function knobValue(spec: KnobSpec | undefined, word: string): unknown {
  const isNumeric = spec?.type === 'int' || spec?.type === 'number';
  return isNumeric && word.trim() !== '' && Number.isFinite(Number(word)) ? Number(word) : word;
}

/** Of an option that may be repeated, all its words. */
export function repeatedArgument(word: string, words: readonly string[]): readonly string[] {
  return [...words, word];
}

/** `-k slots=25% -k threads=2`, or what stands at another place. */
export function knobArguments(
  descriptor: EngineDescriptor,
  words: readonly string[],
  where = '-k',
  hint = 'write NAME=VALUE, such as threads=2',
): Knobs {
  const given: Record<string, unknown> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw new UserError(`"${word}" is no knob`, { where, hint });
    const name = word.slice(0, at);
    if (Object.hasOwn(given, name)) throw new UserError(`${name} is given twice`, { where });
    given[name] = knobValue(specOf(descriptor, name), word.slice(at + 1));
  }
  return checkKnobs(descriptor, given, where);
}

function specOf({ knobs }: EngineDescriptor, name: string): KnobSpec | undefined {
  return Object.hasOwn(knobs, name) ? knobs[name] : undefined;
}

export function checkKnobs(
  descriptor: EngineDescriptor,
  given: Readonly<Record<string, unknown>>,
  where: string,
): Knobs {
  const { knobs, problems } = validateKnobs(descriptor.knobs, given, () => where);
  throwProblems(problems);
  return knobs;
}
