// The texts that `rota score` reads, cut into windows. Owns where they are from and what is said of one that is too short.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../core/errors.ts';
import { cutWindows } from '../core/score/windows.ts';
import { systemTrouble } from '../core/system-error.ts';
import type { Tokenizer } from '../model/tokenizer.ts';
import type { ScoreClass } from '../run/score/subject.ts';
import { nameHint } from '../schema/nearest.ts';

export interface ClassText {
  readonly class: string;
  /** Where it is from, for the record. */
  readonly source: string;
  readonly text: string;
}

/** Those of `protocols/texts`, or of the named classes alone: no model of the project was trained on them, nor chosen by them. */
export function bundledTexts(root: string, classes: readonly string[]): readonly ClassText[] {
  const folder = join('protocols', 'texts');
  const known = readdirSync(join(root, folder))
    .flatMap((file) => (file.endsWith('.txt') ? [file.slice(0, -'.txt'.length)] : []))
    .sort();
  const unknown = classes.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UserError(`there is no text "${unknown}"`, {
      where: '--class',
      hint: nameHint(unknown, known),
    });
  return known
    .filter((name) => classes.length === 0 || classes.includes(name))
    .map((name) => {
      const source = join(folder, `${name}.txt`);
      return { class: name, source, text: readFileSync(join(root, source), 'utf8') };
    });
}

/** `--text CLASS=FILE`. */
export function givenTexts(words: readonly string[]): readonly ClassText[] {
  const seen = new Set<string>();
  return words.map((word) => {
    const [, name = '', file = ''] = /^([A-Za-z0-9][A-Za-z0-9._-]*)=(.+)$/.exec(word) ?? [];
    const where = '--text';
    if (file === '')
      throw new UserError(`"${word}" names no text`, {
        where,
        hint: 'write CLASS=FILE, such as prose=held-out.txt',
      });
    if (seen.has(name)) throw new UserError(`the class ${name} is given twice`, { where });
    seen.add(name);
    return { class: name, source: file, text: readText(file) };
  });
}

function readText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new UserError(systemTrouble(error) ?? String(error), { where: '--text' });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UserError('is no text in UTF-8', { where: file });
  }
}

export interface Cut {
  /** Of the arms' model. */
  readonly tokenizer: Tokenizer;
  /** Of the reference, where it is another model. */
  readonly referenceTokenizer: Tokenizer | null;
  readonly window: number;
  readonly windows: number;
}

export function windowsOf(texts: readonly ClassText[], cut: Cut): readonly ScoreClass[] {
  return texts.map(({ class: name, source, text }) => {
    const ids = cut.tokenizer.encode(text);
    refuseOtherTokenizer(cut, name, ids, text);
    const { bosId } = cut.tokenizer;
    const windows = cutWindows(ids, { tokens: cut.window, most: cut.windows, bosId });
    if (windows.length > 0) return { class: name, windows };
    throw new UserError(
      `has ${ids.length} tokens, a window takes ${cut.window - (bosId === null ? 0 : 1)} of them`,
      {
        where: source,
        hint: 'give a longer text or a smaller --window',
      },
    );
  });
}

/** The same number of words does not make them the same words. */
function refuseOtherTokenizer(
  { tokenizer, referenceTokenizer }: Cut,
  name: string,
  ids: readonly number[],
  text: string,
): void {
  if (referenceTokenizer === null) return;
  const theirs = referenceTokenizer.encode(text);
  const isSame = theirs.length === ids.length && theirs.every((id, i) => id === ids[i]);
  if (isSame && tokenizer.bosId === referenceTokenizer.bosId) return;
  throw new UserError(
    `the reference cuts the text of ${name} into other tokens (${theirs.length}, not ${ids.length})`,
    {
      where: '--reference',
      hint: 'distributions over different words cannot be compared',
    },
  );
}
