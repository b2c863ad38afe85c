// Text to ids and back for the model at a path. Owns where a tokenizer is looked for; knows no chat template and no engine.
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Tokenizer as Codec } from '@huggingface/tokenizers';
import { EngineError, UserError } from '../core/errors.ts';
import { fileOrPartsExist } from './file-parts.ts';
import { type GgufHeader, readGgufHeader } from './gguf-header.ts';
import { ggufTokenizer } from './gguf-tokenizer.ts';
import { readJson } from './read-json.ts';

export interface Tokenizer {
  /** Ids of the text alone: no begin-of-sequence id is added. */
  encode(text: string): number[];
  /** Bytes that are not valid UTF-8 yet come out as U+FFFD; special tokens come out as their text. */
  decode(ids: readonly number[]): string;
  /** What belongs in front of a prompt; null where the model says that nothing does. */
  readonly bosId: number | null;
  readonly eosId: number | null;
  /** The file whose words these are. */
  readonly source: string;
}

/** tokenizer.json beside the weights, else the GGUF's own keys. `modelPath` is a .gguf file or a folder of safetensors. */
export async function openTokenizer(modelPath: string): Promise<Tokenizer> {
  if (!fileOrPartsExist(modelPath)) {
    throw new UserError('no such model', {
      where: modelPath,
      hint: 'name a .gguf file or a folder of weights',
    });
  }
  const isFolder = existsSync(modelPath) && statSync(modelPath).isDirectory();
  const folder = isFolder ? modelPath : dirname(modelPath);
  const jsonPath = join(folder, 'tokenizer.json');
  if (existsSync(jsonPath)) return fromJson(folder, jsonPath);
  if (isFolder) {
    throw new UserError('has no tokenizer.json', {
      where: modelPath,
      hint: 'put tokenizer.json beside the weights',
    });
  }
  return fromGguf(readGgufHeader(modelPath, (key) => key.startsWith('tokenizer.')));
}

export function fromGguf(header: GgufHeader): Tokenizer {
  const parts = ggufTokenizer(header);
  return wrap(parts.tokenizer, { source: header.path, bosId: parts.bosId, eosId: parts.eosId });
}

function fromJson(folder: string, jsonPath: string): Tokenizer {
  const tokenizer = readObject(jsonPath);
  const configPath = join(folder, 'tokenizer_config.json');
  const config = existsSync(configPath) ? readObject(configPath) : {};
  const bos = specialText(config['bos_token']);
  const eos = specialText(config['eos_token']);
  const codec = wrap(tokenizer, { source: jsonPath, bosId: null, eosId: null });
  const idOf = (text: string | undefined): number | null =>
    text === undefined ? null : (codec.idOf(text) ?? null);
  const bosId = config['add_bos_token'] === false ? null : idOf(bos);
  return { ...codec, bosId, eosId: idOf(eos) };
}

interface Wrapped extends Tokenizer {
  idOf(token: string): number | undefined;
}

function wrap(
  tokenizer: object,
  facts: { readonly source: string; readonly bosId: number | null; readonly eosId: number | null },
): Wrapped {
  let codec: Codec;
  try {
    // Left on, this would delete spaces before punctuation, and text would not survive a round trip.
    codec = new Codec(tokenizer, { clean_up_tokenization_spaces: false });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineError(`${facts.source}: the tokenizer cannot be used: ${why}`, { phase: 'load' });
  }
  return {
    ...facts,
    encode: (text) => (text === '' ? [] : codec.encode(text, { add_special_tokens: false }).ids),
    decode: (ids) => decodeKnown(codec, ids),
    idOf: (token) => codec.token_to_id(token),
  };
}

/** An engine's vocabulary may be padded beyond the tokenizer's: such an id is shown as U+FFFD, not as an error. */
function decodeKnown(codec: Codec, ids: readonly number[]): string {
  let text = '';
  let known: number[] = [];
  const flush = (): void => {
    if (known.length > 0) text += codec.decode(known, { skip_special_tokens: false });
    known = [];
  };
  for (const id of ids) {
    if (codec.id_to_token(id) !== undefined) {
      known.push(id);
    } else {
      flush();
      text += '\ufffd';
    }
  }
  flush();
  return text;
}

function readObject(path: string): Record<string, unknown> {
  const parsed = readJson(path);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  throw new EngineError(`${path}: holds no JSON object`, { phase: 'load' });
}

/** "<s>" or {"content": "<s>", ...}: both spellings are in the wild. */
function specialText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (
    typeof value === 'object' &&
    value !== null &&
    'content' in value &&
    typeof value.content === 'string'
  ) {
    return value.content;
  }
  return undefined;
}
