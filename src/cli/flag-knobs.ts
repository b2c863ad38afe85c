// An engine's own flags, as a person types them, back into knobs. Owns the splitting into words; values are checked by the schema.
import { UserError } from '../core/errors.ts';
import { aliasNames } from '../schema/aliases.ts';
import type { EngineDescriptor } from '../schema/descriptor.ts';
import type { KnobSpec, Knobs } from '../schema/knobs.ts';
import { nameHint } from '../schema/nearest.ts';
import { checkKnobs, knobValue } from './arguments.ts';

/** `where` is the option that the text was given to, for the message. */
export function flagKnobs(descriptor: EngineDescriptor, text: string, where: string): Knobs {
  const words = splitWords(text, where);
  const given: Record<string, unknown> = {};
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    const [head = '', inline] = splitOnce(word);
    const [name, spec] = knobOf(descriptor, head, where);
    if (Object.hasOwn(given, name)) throw new UserError(`${head} is given twice`, { where });
    const isSwitch = spec?.switch !== undefined;
    if (isSwitch && inline !== undefined) throw new UserError(`${head} takes no value`, { where });
    const value = isSwitch ? 'on' : (inline ?? words[++i]);
    if (value === undefined) {
      const hint = spec?.summary ?? `write ${head}=VALUE`;
      throw new UserError(`${head} needs a value`, { where, hint });
    }
    given[name] = knobValue(spec, value);
  }
  return checkKnobs(descriptor, given, where);
}

/**
 * Environment knobs are written NAME=VALUE; those without a word of their own by --their-name. A name of the engine's family
 * comes back as it is, without a knob: what its value means, and for which knobs, the schema knows.
 */
function knobOf(descriptor: EngineDescriptor, head: string, where: string): [string, KnobSpec | undefined] {
  const words = Object.entries(descriptor.knobs).map(([name, spec]): [string, string, KnobSpec] => [
    spec.flag ?? spec.switch ?? spec.env ?? `--${name}`,
    name,
    spec,
  ]);
  const found = words.find(([word]) => word === head);
  if (found !== undefined) return [found[1], found[2]];
  const aliases = aliasNames(descriptor.knobs);
  if (aliases.includes(head)) return [head, undefined];
  const known = [...words.map(([word]) => word), ...aliases];
  throw new UserError(`${descriptor.name} has no flag "${head}"`, { where, hint: nameHint(head, known) });
}

function splitOnce(word: string): [string, string | undefined] {
  const at = word.indexOf('=');
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** As a shell does it: spaces part words, quotes keep them together, a backslash takes the next character as it is. */
export function splitWords(text: string, where: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (char === '\\' && quote !== "'") {
      i += 1;
      word = (word ?? '') + (text[i] ?? '');
    } else if (quote !== undefined) {
      if (char === quote) quote = undefined;
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + char;
    }
  }
  if (quote !== undefined) throw new UserError(`a ${quote} is not closed`, { where });
  if (word !== undefined) words.push(word);
  return words;
}
