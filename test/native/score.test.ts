// `score`: the routing of a prompt or that of decode, and the file of whole logits. Exact knobs give the same bits either way; what
// bends decode shows in decode's rows alone.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSwitch, suffering } from './helpers/faults.ts';
import { type Json, promptOf, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const VOCAB = 128;
const HEAD_BYTES = 64;
const tokens = promptOf(40, VOCAB);
const DECODE_FROM = 10;

interface Scored {
  logprobs: number[];
  top1: number[];
  digest: { logits: string; prompt: string };
  logits_file?: { path: string; first_row: number; rows: number; sha256: string };
}

const start = (...args: string[]): Promise<Strata> =>
  Strata.start(['--model', model, '--slots', '25%', '--arena', '25%', ...args]).then(({ engine }) => engine);

async function score(engine: Strata, more: Json = {}): Promise<Scored> {
  engine.send({ id: 70, op: 'score', tokens, ...more });
  return (await engine.next('score')) as unknown as Scored;
}

describe('decode_from', () => {
  test('gives the same bits as a prompt does where routing is exact, in any tier and with any drafts', async () => {
    await using plain = await start();
    await using other = await start('--slots', '0', '--arena', '0', '--depth', '0', '--prompt-batch', '7');
    const prompt = await score(plain);
    for (const engine of [plain, other]) {
      const decode = await score(engine, { decode_from: DECODE_FROM });
      expect(decode.logprobs).toEqual(prompt.logprobs);
      expect(decode.digest.logits).toBe(prompt.digest.logits);
    }
    expect(prompt.digest.prompt).toBe(prompt.digest.logits);
    const start10 = await score(plain, { tokens: tokens.slice(0, DECODE_FROM) });
    expect((await score(plain, { decode_from: DECODE_FROM })).digest.prompt).toBe(start10.digest.logits);
  });

  test('shows what a bias does to decode, which a prompt does not', async () => {
    await using plain = await start();
    await using biased = await start('--route-bias', '1');
    const prompt = await score(plain);
    expect(await score(biased)).toMatchObject({ logprobs: prompt.logprobs, digest: prompt.digest });
    const decode = await score(biased, { decode_from: DECODE_FROM });
    expect(decode.logprobs.slice(0, DECODE_FROM)).toEqual(prompt.logprobs.slice(0, DECODE_FROM));
    const others = decode.logprobs
      .slice(DECODE_FROM)
      .filter((value, i) => value !== prompt.logprobs[i + DECODE_FROM]);
    expect(others.length).toBeGreaterThan(20);
  });

  test('leaves the books of answers and the next answer alone', async () => {
    await using engine = await start('--depth', '0');
    const body = { prompt: tokens, max_new: 8 };
    const before = await engine.generate(body);
    await engine.reset();
    await score(engine, { decode_from: 1 });
    await engine.reset();
    const after = await engine.generate(body);
    expect(after.ids).toEqual(before.ids);
    // Which prefetches were late is a matter of time, all else of the books is not.
    const untimed = ({ counters }: typeof before) => ({
      ...counters,
      late: 0,
      prefetch: { ...counters.prefetch, late: 0 },
    });
    expect(untimed(after)).toEqual(untimed(before));
  });
});

describe('logits_out', () => {
  test('holds the rows whose log-probabilities are in the answer, and their digest', async () => {
    await using engine = await start();
    const file = path.join(folder.path, 'rows');
    const scored = await score(engine, {
      decode_from: DECODE_FROM,
      logits_out: file,
      logits_from: DECODE_FROM,
    });
    const rows = tokens.length - 1 - DECODE_FROM;
    const bytes = readFileSync(file);
    expect(scored.logits_file).toMatchObject({ path: file, first_row: DECODE_FROM, rows });
    expect(bytes).toHaveLength(HEAD_BYTES + rows * VOCAB * 4);
    expect(createHash('sha256').update(bytes.subarray(HEAD_BYTES)).digest('hex')).toBe(
      scored.logits_file?.sha256,
    );
    const at = (row: number, id: number): number => bytes.readFloatLE(HEAD_BYTES + (row * VOCAB + id) * 4);
    for (let row = 0; row < rows; row++) {
      const logits = Array.from({ length: VOCAB }, (_, id) => at(row, id));
      const largest = Math.max(...logits);
      const logSum = largest + Math.log(logits.reduce((sum, value) => sum + Math.exp(value - largest), 0));
      const next = tokens[DECODE_FROM + row + 1] ?? -1;
      expect(at(row, next) - logSum).toBeCloseTo(scored.logprobs[DECODE_FROM + row] ?? Number.NaN, 10);
      expect(logits.indexOf(largest)).toBe(scored.top1[DECODE_FROM + row]);
    }
  });

  test('is refused where something is or nothing can be, and the engine lives on', async () => {
    await using engine = await start();
    const file = path.join(folder.path, 'there');
    await score(engine, { logits_out: file });
    const before = readFileSync(file);
    for (const [logits_out, why] of [
      [file, 'File exists'],
      [path.join(folder.path, 'no', 'folder'), 'No such file or directory'],
    ]) {
      engine.send({ id: 71, op: 'score', tokens, logits_out });
      expect(await engine.next('error')).toMatchObject({
        code: 'io',
        message: `logits_out ${logits_out}: cannot be made: ${why}`,
      });
    }
    expect(readFileSync(file)).toEqual(before);
    await score(engine);
  });

  test('leaves no half file on a disk that is full', async () => {
    const full = createSwitch(folder.path);
    const env = suffering(['write', { path: 'cut', room: 1000, when: full.file }]);
    const { engine } = await Strata.start(['--model', model], env);
    await using _ = engine;
    const file = path.join(folder.path, 'cut');
    full.on();
    engine.send({ id: 72, op: 'score', tokens, logits_out: file });
    expect(await engine.next('error')).toMatchObject({
      code: 'io',
      message: `logits_out ${file}: cannot write: No space left on device`,
    });
    expect(existsSync(file)).toBe(false);
    full.off();
    await score(engine, { logits_out: file });
  });
});

test.each<[Json, string]>([
  [{ decode_from: 0 }, 'decode_from must be a whole number in 1..2147483647, got 0'],
  [{ decode_from: 40 }, 'decode_from is 40: 1..39 of these tokens'],
  [{ logits_out: '' }, 'logits_out must be a path, got ""'],
  [{ logits_out: 7 }, 'logits_out must be a path, got 7'],
  [{ logits_from: 3 }, 'logits_from without logits_out: there is no file to begin'],
  [{ logits_out: '/none', logits_from: 39 }, 'logits_from is 39: 0..38 of these tokens'],
  [{ decode_form: 3 }, 'unknown field "decode_form"; did you mean "decode_from"?'],
])('%j is a bad request', async (more, message) => {
  await using engine = await start();
  engine.send({ id: 73, op: 'score', tokens, ...more });
  expect(await engine.next('error')).toMatchObject({ code: 'bad_request', message });
});
