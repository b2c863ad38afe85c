import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { engramMap, ensureEngramMap } from '../../src/model/engram-map.ts';
import { shipped } from './helpers/shipped.ts';

const VOCAB = 4096;
const EngramJson = z.object({ token_map: z.array(z.int()) });
const trained = EngramJson.parse(JSON.parse(readFileSync(join(shipped, 'engram.json'), 'utf8'))).token_map;
const tokenizer: unknown = JSON.parse(readFileSync(join(shipped, 'tokenizer.json'), 'utf8'));

/** Spelt as a byte-level vocabulary spells: a space is Ġ, and the two bytes of é are Ã and ©. */
function idsOf(tokens: readonly string[], added: readonly string[] = []) {
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const added_tokens = added.map((content, i) => ({ id: tokens.length + i, content }));
  return engramMap({ model: { vocab }, added_tokens }, tokens.length + added.length, 't').ids;
}

describe('the compressed ids of a tokenizer', () => {
  it('are those of the code that trained with them', () => {
    const { ids, count } = engramMap(tokenizer, VOCAB, 't');
    expect(ids).toEqual(trained);
    expect(count).toBe(new Set(trained).size);
  });

  it('join case, accents, widths and white space', () => {
    expect(idsOf(['a', 'A', 'Ġa', 'Ġ', 'ĠĠ', 'aĠ', 'Ċ'])).toEqual([0, 0, 0, 1, 1, 0, 1]);
    // é and E with an accent behind it; the wide letter Ａ.
    expect(idsOf(['e', 'Ã©', 'EÌģ', 'ï¼¡', 'A'])).toEqual([0, 0, 0, 1, 1]);
    // Capital sigma alone and at the end of a word: letter by letter there is no final one.
    expect(idsOf(['Î±ÏĥÎ±', 'Î±Î£', 'Î±Ïĥ', 'Î±Ïĩ'])).toEqual([0, 1, 1, 2]);
  });

  it('leave alone what is no text, an accent alone, and ids that no token has', () => {
    // Ã is half of a letter; both halves are no text and stay apart.
    expect(idsOf(['Ã', '©', 'Ìģ', 'Ìĥ'])).toEqual([0, 1, 2, 3]);
    expect(engramMap({ model: { vocab: { a: 0, b: 3 } } }, 5, 't').ids).toEqual([0, 1, 2, 3, 4]);
  });

  it('know special tokens by their text, and a token called __proto__', () => {
    expect(idsOf(['a'], ['<｜User｜>', '<|user|>'])).toEqual([0, 1, 1]);
    const odd: unknown = JSON.parse('{"model":{"vocab":{"__proto__":1,"a":0}}}');
    expect(engramMap(odd, 2, 't').ids).toEqual([0, 1]);
  });

  it('are refused for what holds no vocabulary, or more than the model', () => {
    expect(() => engramMap({ model: {} }, 1, 't')).toThrow('t: holds no vocabulary');
    expect(() => engramMap({ model: { vocab: { a: 1 } } }, 1, 't')).toThrow(
      't: token "a" has id 1, the model has 1',
    );
  });
});

describe('engram.json of a checkpoint', () => {
  function folder(compressed: number, layers: readonly number[] = [1]): string {
    const made = mkdtempSync(join(tmpdir(), 'rota-engram-'));
    onTestFinished(() => rmSync(made, { recursive: true }));
    const text_config = {
      vocab_size: VOCAB,
      engram_layer_ids: layers,
      engram_compressed_vocab_size: compressed,
    };
    writeFileSync(join(made, 'config.json'), JSON.stringify({ text_config }));
    writeFileSync(join(made, 'tokenizer.json'), JSON.stringify(tokenizer));
    return made;
  }
  const count = new Set(trained).size;

  it('is made once, and only where there are Engram layers', () => {
    const made = folder(count);
    expect(ensureEngramMap(made)).toBe(
      `${made}/engram.json: made from tokenizer.json, ${count} compressed ids`,
    );
    const written = EngramJson.parse(JSON.parse(readFileSync(join(made, 'engram.json'), 'utf8')));
    expect(written.token_map).toEqual(trained);
    expect(ensureEngramMap(made)).toBeUndefined();
    expect(ensureEngramMap(folder(count, []))).toBeUndefined();
    expect(ensureEngramMap('/no/such/folder')).toBeUndefined();
  });

  it('is not made when the tokenizer is not the one of the config', () => {
    const made = folder(count + 1);
    expect(() => ensureEngramMap(made)).toThrow(
      `${made}/tokenizer.json: gives ${count} compressed ids, config.json says ${count + 1}: it is not this model's, or its rule is another`,
    );
  });
});
