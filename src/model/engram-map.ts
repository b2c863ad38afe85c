// engram.json of a checkpoint: the compressed id of every token, which the release leaves to be derived from its tokenizer. Owns the
// rule (NFKC, NFD, no accents, lower case, white space joined and stripped; ids in first-seen order). Writes that one file.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { EngineError } from '../core/errors.ts';
import { writeWhole } from '../results/files.ts';
import { readJson } from './read-json.ts';

const TokenizerJson = z.object({
  added_tokens: z.array(z.object({ id: z.int().nonnegative(), content: z.string() })).default([]),
  // Not a record of zod's, which leaves "__proto__" out: it is a token like any other.
  model: z.object({ vocab: z.custom<Readonly<Record<string, unknown>>>(isObject) }),
});

const ConfigJson = z.object({
  text_config: z.object({
    vocab_size: z.int().positive(),
    engram_layer_ids: z.array(z.int()).default([]),
    engram_compressed_vocab_size: z.int().positive().optional(),
  }),
});

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** GPT-2's printable letters -> bytes: a printable byte is itself, the others follow from U+0100 on. */
function bytesOfLetters(): ReadonlyMap<string, number> {
  const letters = new Map<string, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    letters.set(String.fromCodePoint(isPrintable ? byte : next++), byte);
  }
  return letters;
}

/** U+FFFD for bytes that are no text. */
function textOf(token: string, letters: ReadonlyMap<string, number>): string {
  const bytes = Array.from(token, (letter) => letters.get(letter));
  const isSpelt = bytes.every((byte) => byte !== undefined);
  return isSpelt ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes)) : token;
}

/** Letter by letter: what a letter becomes does not depend on its neighbours (a final sigma would). */
function lowered(text: string): string {
  return Array.from(text, (letter) => letter.toLowerCase()).join('');
}

function normalised(text: string): string {
  const bare = text
    .normalize('NFKC')
    .normalize('NFD')
    .replace(/[\p{Mn}\p{Mc}]/gu, '');
  const joined = lowered(bare).replace(/[ \t\r\n]+/gu, ' ');
  return joined === ' ' ? joined : joined.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '');
}

export interface EngramMap {
  /** By token id. */
  readonly ids: readonly number[];
  /** How many there are. */
  readonly count: number;
}

/** Of each id below `vocab`. An id that the tokenizer leaves out stands for itself. */
export function engramMap(tokenizer: unknown, vocab: number, path: string): EngramMap {
  const refused = (what: string): EngineError => new EngineError(`${path}: ${what}`, { phase: 'load' });
  const { data } = TokenizerJson.safeParse(tokenizer);
  if (data === undefined) throw refused('holds no vocabulary');
  const letters = bytesOfLetters();
  const keys: (string | undefined)[] = Array.from({ length: vocab }, () => undefined);
  const put = (token: string, id: unknown, text: string): void => {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= vocab)
      throw refused(`token ${JSON.stringify(token)} has id ${String(id)}, the model has ${vocab}`);
    keys[id] = text.includes('\ufffd') ? token : normalised(text) || text;
  };
  for (const [token, id] of Object.entries(data.model.vocab)) put(token, id, textOf(token, letters));
  for (const { id, content } of data.added_tokens) put(content, id, content);
  const known = new Map<string, number>();
  const ids = keys.map((key, id) => {
    // A key of its own: no token's text holds a lone surrogate.
    const own = key ?? `\ud800${id}`;
    const compressed = known.get(own) ?? known.size;
    known.set(own, compressed);
    return compressed;
  });
  return { ids, count: known.size };
}

/** Makes engram.json where a checkpoint needs it, has none, and has the tokenizer. The line that says so, else undefined. */
export function ensureEngramMap(folder: string): string | undefined {
  const path = join(folder, 'engram.json');
  const tokenizerPath = join(folder, 'tokenizer.json');
  const configPath = join(folder, 'config.json');
  if (existsSync(path) || !existsSync(tokenizerPath) || !existsSync(configPath)) return undefined;
  const config = ConfigJson.safeParse(readJson(configPath));
  // What is wrong with the config, its reader says better.
  if (!config.success || config.data.text_config.engram_layer_ids.length === 0) return undefined;
  const { vocab_size, engram_compressed_vocab_size } = config.data.text_config;
  const { ids, count } = engramMap(readJson(tokenizerPath), vocab_size, tokenizerPath);
  if (count !== engram_compressed_vocab_size) {
    throw new EngineError(
      `${tokenizerPath}: gives ${count} compressed ids, config.json says ${engram_compressed_vocab_size}: it is not this model's, or its rule is another`,
      { phase: 'load' },
    );
  }
  write(path, `${JSON.stringify({ token_map: ids })}\n`);
  return `${path}: made from tokenizer.json, ${count} compressed ids`;
}

function write(path: string, text: string): void {
  try {
    writeWhole(path, text, 'start it again');
  } catch (error) {
    if (error instanceof EngineError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineError(`${path}: cannot be written: ${why}`, { phase: 'load' });
  }
}
