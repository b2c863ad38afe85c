import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openTokenizer } from '../../src/model/tokenizer.ts';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../fixtures/tokenizer-tiny');
const Golden = z.array(z.object({ text: z.string(), ids: z.array(z.int()) })).min(10);
const golden = Golden.parse(JSON.parse(readFileSync(join(folder, 'tokenizer_golden.json'), 'utf8')));

describe('a tokenizer that the training code wrote', () => {
  it('gives the ids that the library which trained it gives', async () => {
    const tokenizer = await openTokenizer(folder);
    expect(golden.map(({ text }) => ({ text, ids: tokenizer.encode(text) }))).toEqual(golden);
  });

  it('gives every text back, and knows where a sequence begins and ends', async () => {
    const tokenizer = await openTokenizer(folder);
    for (const { text, ids } of golden) expect(tokenizer.decode(ids)).toBe(text);
    expect([tokenizer.bosId, tokenizer.eosId]).toEqual([0, 1]);
  });
});
