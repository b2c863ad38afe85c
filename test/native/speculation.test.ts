// Scripted acceptance on a real model: whatever the drafts are worth, the tokens are those of plain greedy decoding.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Done, generateOnce, type Json, promptOf, runStrata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const oracle = path.join(folder.path, 'oracle.jsonl');
const NEW_TOKENS = 61;
const bodies: Json[] = [1, 3].map((seed) => ({ prompt: promptOf(30, 128, seed), max_new: NEW_TOKENS }));
let plain: Done[];

beforeAll(async () => {
  plain = (await generateOnce(['--model', model, '--depth', '0'], ...bodies)).done;
  writeFileSync(oracle, plain.map(({ ids }) => JSON.stringify(ids)).join('\n'));
});

async function scripted(depth: number, corrupt: number): Promise<Done[]> {
  const knobs = ['--draft-oracle', oracle, '--draft-corrupt', String(corrupt), '--depth', String(depth)];
  const { done } = await generateOnce(
    ['--model', model, '--slots', '25%', '--arena', '25%', ...knobs],
    ...bodies,
  );
  for (const [index, { ids, digest, counters }] of done.entries()) {
    expect(ids).toEqual(plain[index]?.ids);
    expect(digest).toEqual(plain[index]?.digest);
    expect(counters.rows).toBe(counters.passes + counters.offered);
    expect(counters.lookups).toBe(counters.rows * 8 * 2);
  }
  return done;
}

test('100 %: every draft is accepted, 6 tokens a pass', async () => {
  for (const { counters } of await scripted(5, 0)) {
    expect(counters.passes).toBe((NEW_TOKENS - 1) / 6);
    expect(counters.accepted).toBe(counters.offered);
  }
});

test('0 %: no draft is accepted, one token a pass', async () => {
  for (const { counters } of await scripted(5, 1)) {
    expect(counters.passes).toBe(NEW_TOKENS - 1);
    expect(counters.accepted).toBe(0);
    expect(counters.offered).toBeGreaterThan(4 * NEW_TOKENS);
  }
});

test('50 %: every other draft is accepted, 1.5 tokens a pass', async () => {
  for (const { counters } of await scripted(1, 2)) {
    expect(counters.passes).toBe((NEW_TOKENS - 1) / 1.5);
    expect(counters.accepted).toBe((NEW_TOKENS - 1) / 3);
  }
});

test('every partial accept of a block of five is rolled back exactly', async () => {
  for (const corrupt of [2, 3, 4, 6, 7]) await scripted(5, corrupt);
});

test('an oracle with a token outside the vocabulary is refused with its line', () => {
  const bad = path.join(folder.path, 'bad.txt');
  writeFileSync(bad, '3 4\n128\n');
  const { code, stderr } = runStrata(['--model', model, '--draft-oracle', bad]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    `rota-strata: --draft-oracle: ${bad}:2: token 128 is not below the vocabulary of 128\n`,
  );
});
