import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTextStream } from '../../src/model/text-stream.ts';
import { fromGguf } from '../../src/model/tokenizer.ts';
import { tokenizerKeys } from './helpers/gguf-bytes.ts';

/** One token a byte: the hardest case for text that comes in pieces. */
const keys = tokenizerKeys(['h e']);
const tokenizer = fromGguf({
  path: 'x.gguf',
  tensorCount: 0,
  keys: new Map(
    Object.entries(keys).map(([name, key]) => [
      name,
      key.type === 'array' ? (key.values as string[]) : key.value,
    ]),
  ),
});

describe('text that comes in pieces', () => {
  it('keeps a character back until its bytes are there', () => {
    const stream = createTextStream(tokenizer);
    const pieces = tokenizer.encode('é你😀!').map((id) => stream.push([id]));
    expect(pieces).toEqual(['', 'é', '', '', '你', '', '', '', '😀', '!']);
    expect(stream.end()).toBe('');
  });

  it('gives up on bytes that never become a character', () => {
    const stream = createTextStream(tokenizer);
    const [half = 0] = tokenizer.encode('😀');
    expect(stream.push([half])).toBe('');
    expect(stream.end()).toBe('\ufffd');
    expect(stream.end()).toBe('');
    expect(stream.push([half, half, half, half])).toBe('\ufffd'.repeat(4));
  });

  it('is the whole text however it is cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), fc.nat(5), (text, size) => {
        const ids = tokenizer.encode(text);
        const stream = createTextStream(tokenizer);
        let shown = '';
        for (let i = 0; i < ids.length; i += size + 1) shown += stream.push(ids.slice(i, i + size + 1));
        expect(shown + stream.end()).toBe(text);
      }),
    );
  });
});
