// The tokenizer keys of a GGUF as a tokenizer.json object. Owns which keys are needed and what is refused; opens no file.
import { EngineError } from '../core/errors.ts';
import type { GgufHeader, GgufValue } from './gguf-header.ts';
import { knownPreTokenizers, preTokenizer } from './pre-tokenizers.ts';

export interface GgufTokenizer {
  readonly tokenizer: object;
  readonly bosId: number | null;
  readonly eosId: number | null;
}

/** ggml's token types: control and user-defined tokens are matched whole in a text, before any splitting. */
const CONTROL = 3;
const USER_DEFINED = 4;

export function ggufTokenizer(header: GgufHeader): GgufTokenizer {
  const kind = header.keys.get('tokenizer.ggml.model');
  if (kind === undefined)
    fail(header, 'holds no tokenizer (no key tokenizer.ggml.model); put tokenizer.json beside it');
  if (kind !== 'gpt2')
    fail(header, `tokenizer.ggml.model is "${String(kind)}"; only gpt2 (byte-level BPE) is read`);
  const pre = header.keys.get('tokenizer.ggml.pre');
  const pre_tokenizer = preTokenizer(typeof pre === 'string' ? pre : '');
  if (pre_tokenizer === undefined) {
    const known = knownPreTokenizers().join(', ');
    fail(header, `tokenizer.ggml.pre is "${String(pre)}"; known are ${known}; put tokenizer.json beside it`);
  }
  const tokens = strings(header, 'tokenizer.ggml.tokens');
  const types = tokenTypes(header, tokens.length);
  return {
    tokenizer: {
      normalizer: null,
      pre_tokenizer,
      post_processor: null,
      decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      added_tokens: addedTokens(tokens, types),
      model: { type: 'BPE', vocab: vocabulary(header, tokens), merges: merges(header) },
    },
    bosId:
      header.keys.get('tokenizer.ggml.add_bos_token') === false
        ? null
        : tokenId(header, 'bos', tokens.length),
    eosId: tokenId(header, 'eos', tokens.length),
  };
}

/** Without a prototype: "__proto__" and "constructor" are tokens like any other. */
function vocabulary(header: GgufHeader, tokens: readonly string[]): Record<string, number> {
  const vocab: Record<string, number> = Object.create(null);
  for (const [id, token] of tokens.entries()) {
    if (Object.hasOwn(vocab, token))
      fail(header, `tokenizer.ggml.tokens: ids ${vocab[token]} and ${id} are both ${JSON.stringify(token)}`);
    vocab[token] = id;
  }
  return vocab;
}

function merges(header: GgufHeader): readonly (readonly [string, string])[] {
  return strings(header, 'tokenizer.ggml.merges').map((line, index) => {
    const [left, right, ...rest] = line.split(' ');
    if (left === undefined || right === undefined || left === '' || right === '' || rest.length > 0) {
      return fail(header, `tokenizer.ggml.merges: entry ${index} is ${JSON.stringify(line)}, not two parts`);
    }
    return [left, right] as const;
  });
}

function addedTokens(tokens: readonly string[], types: readonly GgufValue[]): readonly object[] {
  return tokens.flatMap((content, id) => {
    const type = types[id];
    if (type !== CONTROL && type !== USER_DEFINED) return [];
    const special = type === CONTROL;
    return [{ id, content, special, normalized: false, single_word: false, lstrip: false, rstrip: false }];
  });
}

function tokenTypes(header: GgufHeader, count: number): readonly GgufValue[] {
  const types = header.keys.get('tokenizer.ggml.token_type');
  if (types === undefined) return [];
  if (!Array.isArray(types) || types.length !== count) {
    return fail(header, `tokenizer.ggml.token_type has not one entry for each of the ${count} tokens`);
  }
  return types;
}

function tokenId(header: GgufHeader, role: 'bos' | 'eos', count: number): number | null {
  const key = `tokenizer.ggml.${role}_token_id`;
  const id = header.keys.get(key);
  if (id === undefined) return null;
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= count) {
    return fail(header, `${key} is ${String(id)}, outside of the ${count} tokens`);
  }
  return id;
}

function strings(header: GgufHeader, key: string): readonly string[] {
  const value = header.keys.get(key);
  if (!Array.isArray(value) || value.length === 0) return fail(header, `${key} is missing or empty`);
  return value.map((item: GgufValue) =>
    typeof item === 'string' ? item : fail(header, `${key} holds something that is not text`),
  );
}

function fail(header: GgufHeader, what: string): never {
  throw new EngineError(`${header.path}: ${what}`, { phase: 'load' });
}
