import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineError, UserError } from '../../src/core/errors.ts';
import { openTokenizer, type Tokenizer } from '../../src/model/tokenizer.ts';
import { byteTokens, header, type Key, SPECIALS, tokenizerKeys } from './helpers/gguf-bytes.ts';

const MERGES = ['h e', 'l l', 'he ll', 'hell o', 'Ġ w', '1 2', '12 3', 'ä ½', 'ä½ ł', '. c', '.c o', 'Ċ Ċ'];
let folder = '';
let tokenizer: Tokenizer;

async function open(keys: Readonly<Record<string, Key>>): Promise<Tokenizer> {
  const path = join(folder, 'model.gguf');
  writeFileSync(path, header(keys));
  return openTokenizer(path);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rota-tokenizer-'));
  tokenizer = await open(tokenizerKeys(MERGES));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The ids' own texts, joined by a bar: shows where the text was cut. */
function pieces(text: string): string {
  return tokenizer
    .encode(text)
    .map((id) => tokenizer.decode([id]))
    .join('|');
}

describe('from the keys of a GGUF', () => {
  it.each([
    'hello world',
    '你好，世界。こんにちは カタカナ 한국어',
    'emoji 👩‍👩‍👧‍👦 🏳️‍🌈 é',
    'def f(x):\n\treturn x ** 2\r\n\r\n   # 12345 %',
    ' leading, trailing   ',
    '__proto__ constructor toString',
  ])('gives %j back', (text) => {
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  });

  it('gives every text back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('merges by rank', () => {
    expect(pieces('hello')).toBe('hello');
    expect(pieces('helo')).toBe('he|l|o');
  });

  it('splits digits by three, so that no merge crosses', () => {
    expect(pieces('1231234')).toBe('123|123|4');
  });

  it('splits CJK runs from what is beside them', () => {
    expect(pieces('你w')).toBe(pieces('你').concat('|w'));
    expect(tokenizer.encode('你')).toHaveLength(1);
  });

  it('joins one ASCII mark to the letters after it, and a space to a word', () => {
    expect(pieces('x.co')).toBe('x|.co');
    expect(pieces('a w')).toBe('a| w');
  });

  it('knows special tokens in a text, and begin and end of sequence', () => {
    expect(tokenizer.encode(`${SPECIALS[2]}hello`)[0]).toBe(2);
    expect(tokenizer.decode([0, 2])).toBe(`${SPECIALS[0]}${SPECIALS[2]}`);
    expect([tokenizer.bosId, tokenizer.eosId]).toEqual([0, 1]);
  });

  it('adds no begin of sequence by itself', () => {
    expect(tokenizer.encode('')).toEqual([]);
    expect(tokenizer.encode('h')).toHaveLength(1);
  });

  it('says that no begin of sequence belongs in front when the model says so', async () => {
    const keys = tokenizerKeys(MERGES, { 'tokenizer.ggml.add_bos_token': { type: 'bool', value: false } });
    expect((await open(keys)).bosId).toBeNull();
  });

  it('shows half a character, and an id beyond the vocabulary, as U+FFFD', () => {
    const [first] = tokenizer.encode('é');
    expect(tokenizer.decode([first ?? -1])).toBe('\ufffd');
    expect(tokenizer.decode([...tokenizer.encode('h'), 999_999, ...tokenizer.encode('e')])).toBe('h\ufffde');
    expect(tokenizer.decode([])).toBe('');
  });
});

describe('refusals are one line', () => {
  async function message(changes: Readonly<Record<string, Key>>): Promise<string> {
    const error: unknown = await open(tokenizerKeys(MERGES, changes)).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof EngineError)) throw new Error('accepted');
    return error.message.replace(`${folder}/`, '');
  }

  it('says what is missing or unknown', async () => {
    expect([
      await message({ 'tokenizer.ggml.model': { type: 'string', value: 'llama' } }),
      await message({ 'tokenizer.ggml.pre': { type: 'string', value: 'qwen2' } }),
      await message({ 'tokenizer.ggml.tokens': { type: 'array', of: 'string', values: [] } }),
      await message({
        'tokenizer.ggml.tokens': { type: 'array', of: 'u32', values: [1] },
        'tokenizer.ggml.token_type': { type: 'array', of: 'i32', values: [1] },
      }),
      await message({ 'tokenizer.ggml.merges': { type: 'array', of: 'string', values: ['a b c'] } }),
      await message({ 'tokenizer.ggml.token_type': { type: 'array', of: 'i32', values: [1] } }),
      await message({ 'tokenizer.ggml.bos_token_id': { type: 'u32', value: 5_000 } }),
    ]).toMatchInlineSnapshot(`
      [
        "model.gguf: tokenizer.ggml.model is "llama"; only gpt2 (byte-level BPE) is read",
        "model.gguf: tokenizer.ggml.pre is "qwen2"; known are joyai-llm, deepseek-v3; put tokenizer.json beside it",
        "model.gguf: tokenizer.ggml.tokens is missing or empty",
        "model.gguf: tokenizer.ggml.tokens holds something that is not text",
        "model.gguf: tokenizer.ggml.merges: entry 0 is "a b c", not two parts",
        "model.gguf: tokenizer.ggml.token_type has not one entry for each of the 271 tokens",
        "model.gguf: tokenizer.ggml.bos_token_id is 5000, outside of the 271 tokens",
      ]
    `);
  });

  it('names a model that is not there, and a folder without a tokenizer', async () => {
    await expect(openTokenizer(join(folder, 'none.gguf'))).rejects.toThrow(UserError);
    const empty = mkdtempSync(join(folder, 'empty-'));
    await expect(openTokenizer(empty)).rejects.toThrow('has no tokenizer.json');
  });
});

describe('tokenizer.json beside the weights', () => {
  const vocab = Object.fromEntries([...byteTokens(), 'he'].map((token, id) => [token, id]));
  const json = {
    added_tokens: [
      {
        id: 257,
        content: '<s>',
        special: true,
        normalized: false,
        single_word: false,
        lstrip: false,
        rstrip: false,
      },
    ],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab, merges: ['h e'] },
  };

  it('is used before the keys, with the begin of sequence of tokenizer_config.json', async () => {
    const beside = mkdtempSync(join(folder, 'json-'));
    writeFileSync(join(beside, 'tokenizer.json'), JSON.stringify(json));
    writeFileSync(join(beside, 'tokenizer_config.json'), JSON.stringify({ bos_token: { content: '<s>' } }));
    const path = join(beside, 'model.gguf');
    writeFileSync(path, header(tokenizerKeys(MERGES)));
    const opened = await openTokenizer(path);
    expect(opened.source).toBe(join(beside, 'tokenizer.json'));
    expect(opened.encode('he ,')).toEqual([256, 32, 44]);
    expect(opened.decode([256, 32, 44])).toBe('he ,');
    expect([opened.bosId, opened.eosId]).toEqual([257, null]);
  });

  it('is an error when it is damaged', async () => {
    const beside = mkdtempSync(join(folder, 'bad-'));
    writeFileSync(join(beside, 'tokenizer.json'), '{');
    await expect(openTokenizer(beside)).rejects.toThrow(/tokenizer\.json: not JSON/);
    writeFileSync(join(beside, 'tokenizer.json'), '[]');
    await expect(openTokenizer(beside)).rejects.toThrow(/holds no JSON object/);
  });
});
