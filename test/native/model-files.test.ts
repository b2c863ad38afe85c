// The engine over model files as they are found: three families of names, and raw parts that were never joined.

import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { generateOnce, type Json, promptOf, runStrata, synthesise } from './helpers/strata.ts';
import { workspace } from './helpers/workspace.ts';

const folder = workspace();
const body: Json = { prompt: promptOf(30, 128), max_new: 24 };
/** A third of the experts in slots, a third in the arena, a third read from the file in mid-pass. */
const TIERS = ['--slots', '33%', '--arena', '33%', '--ctx', '256'];

async function outcome(model: string, ...options: string[]) {
  const short = model.includes('mini-s') ? { max_new: 6 } : {};
  const { ready, done } = await generateOnce(['--model', model, ...TIERS, ...options], { ...body, ...short });
  const [first] = done;
  return { ready, ids: first?.ids, digest: first?.digest, counters: first?.counters };
}

function inFolder(name: string): string {
  return path.join(folder.path, name);
}

/** Replaces the file by parts of `each` bytes. */
function cut(file: string, each: number): number {
  const bytes = readFileSync(file);
  let parts = 0;
  for (; parts * each < bytes.length; parts++) {
    const name = `${file}.part-${String(parts).padStart(2, '0')}`;
    writeFileSync(name, bytes.subarray(parts * each, (parts + 1) * each));
  }
  rmSync(file);
  return parts;
}

describe('families', () => {
  test('one model in the names of three families is one model', async () => {
    const FORMAT = ['--expert-format', 'Q8_0', '--dense-format', 'Q8_0'];
    const outcomes = [];
    for (const layout of ['ours', 'a', 'b']) {
      const model = synthesise(folder.path, 'mini-xs', '--layout', layout, ...FORMAT);
      const found = await outcome(model);
      expect(found.ready.model).toMatchObject({ family: layout });
      outcomes.push(found);
    }
    const [ours, a, b] = outcomes;
    expect(a?.ids).toEqual(ours?.ids);
    expect(a?.digest).toEqual(ours?.digest);
    expect(b?.ids).toEqual(ours?.ids);
    expect(b?.digest).toEqual(ours?.digest);
    expect(b?.counters?.lookups).toBe(ours?.counters?.lookups);
  });

  test.each([
    ['MXFP4', 'mini-xs', 'a'],
    ['F16', 'mini-xs', 'ours'],
    ['Q2_K', 'mini-s', 'b'],
  ])(
    'experts in %s: the same output from all tiers at once and from the file alone',
    async (format, config, layout) => {
      const model = synthesise(folder.path, config, '--layout', layout, '--expert-format', format);
      const tiers = await outcome(model);
      expect(Object.keys(tiers.ready.formats)).toEqual([format]);
      expect(tiers.counters?.file).toBeGreaterThan(0);
      const file = await outcome(model, '--slots', '0', '--arena', '0');
      expect(file.digest).toEqual(tiers.digest);
    },
  );

  // Of experts, formats that are computed in floats: integer kernels round activations, so that experts in MXFP4 or
  // Q2_K differ in the last bits there. That these hold the same weights is family_test.cc's to show.
  test('weights that several formats hold exactly are one model to the engine', async () => {
    const found = [];
    for (const [layout, ...formats] of [
      ['ours', '--expert-format', 'f16', '--dense-format', 'f16'],
      ['a', '--expert-format', 'bf16', '--dense-format', 'mxfp4', '--engram-format', 'mxfp4'],
      ['b', '--expert-format', 'mxfp8', '--dense-format', 'f16', '--engram-format', 'mxfp8'],
    ] as const) {
      const model = synthesise(folder.path, 'mini-xs', '--layout', layout, '--values', 'grid', ...formats);
      found.push(await outcome(model));
    }
    expect(found.map(({ ready }) => Object.keys(ready.formats))).toEqual([['F16'], ['BF16'], ['MXFP8']]);
    for (const { ids, digest } of found)
      expect({ ids, digest }).toEqual({ ids: found[0]?.ids, digest: found[0]?.digest });
    expect(found[0]?.digest?.logits).not.toBeNull();
  });

  test('a file that contradicts itself ends with 3 and one line', () => {
    const model = synthesise(folder.path, 'mini-xs', '--layout', 'b');
    const odd = inFolder('odd.gguf');
    const bytes = readFileSync(model, 'latin1');
    writeFileSync(odd, bytes.replace('blk.3.exp_probs_b_vl.bias', 'blk.3.engram_embed.weight'), 'latin1');
    const { code, stderr } = runStrata(['--model', odd]);
    expect(code).toBe(3);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toContain(
      'key deepseek41.engram.head_count is of family b, but tensor blk.3.engram_embed.weight of family a',
    );
  });
});

describe('raw parts', () => {
  test('parts are read in place by every tier, and are the joined file', async () => {
    const model = synthesise(folder.path, 'mini-xs');
    const joined = await outcome(model);
    expect(joined.counters?.file).toBeGreaterThan(0);
    // No page and no expert ends where a part ends.
    const parts = cut(model, 100_003);
    expect(parts).toBeGreaterThan(5);
    const inParts = await outcome(model);
    expect(inParts.ready.fingerprint).toBe(joined.ready.fingerprint);
    expect(inParts.ready.sizes['file_direct']).toBe(joined.ready.sizes['file_direct']);
    expect(inParts.ids).toEqual(joined.ids);
    expect(inParts.digest).toEqual(joined.digest);
    expect(inParts.counters?.bytes).toEqual(joined.counters?.bytes);

    truncateSync(`${model}.part-02`, 99_000);
    const short = runStrata(['--model', model]);
    expect(short.code).toBe(3);
    expect(short.stderr).toContain(
      `${model}.part-02: has 99000 bytes, other parts 100003; all but the last must be equally long`,
    );
    renameSync(`${model}.part-02`, inFolder('aside'));
    const missing = runStrata(['--model', `${model}.part-00`]);
    expect(missing.code).toBe(3);
    expect(missing.stderr).toContain(`${model}.part-02: this part is missing`);
    expect(missing.stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});
