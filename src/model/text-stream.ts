// Ids that come in pieces, as text that comes in pieces. Owns the wait for the rest of a character.
import type { Tokenizer } from './tokenizer.ts';

export interface TextStream {
  /** The text that is certain now; a character whose bytes are not all there yet is kept back. */
  push(ids: readonly number[]): string;
  /** What was kept back. */
  end(): string;
}

/** A character has at most four bytes, so more ids than this that still end in U+FFFD mean it. */
const LONGEST_WAIT = 4;

export function createTextStream(tokenizer: Pick<Tokenizer, 'decode'>): TextStream {
  let waiting: number[] = [];
  return {
    push(ids) {
      let text = '';
      for (const id of ids) {
        waiting.push(id);
        const decoded = tokenizer.decode(waiting);
        if (decoded.endsWith('\ufffd') && waiting.length < LONGEST_WAIT) continue;
        text += decoded;
        waiting = [];
      }
      return text;
    },
    end() {
      const text = tokenizer.decode(waiting);
      waiting = [];
      return text;
    },
  };
}
