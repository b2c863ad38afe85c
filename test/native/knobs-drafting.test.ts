// Where drafts come from and what is written down: none of it changes what the model says.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Done, generateOnce, type Json, promptOf, runStrata, Strata } from './helpers/strata.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const body: Json = { prompt: promptOf(40, 128), max_new: 25 };
let sidecar: string;
let oracle: string;
let plain: Done;

beforeAll(async () => {
  mkdirSync(path.join(folder.path, 'drafts'));
  sidecar = path.join(folder.path, 'drafts', 'elsewhere.gguf');
  renameSync(model.replace('.gguf', '.dspark.gguf'), sidecar);
  plain = await once('--depth', '0');
  oracle = path.join(folder.path, 'oracle.jsonl');
  writeFileSync(oracle, JSON.stringify(plain.ids));
});

async function once(...knobs: string[]): Promise<Done> {
  const { done } = await generateOnce(['--model', model, '--ctx', '256', ...knobs], body);
  const [only] = done;
  if (only === undefined) throw new Error('no answer');
  return only;
}

function output({ ids, finish, digest }: Done): unknown {
  return { ids, finish, digest };
}

describe('knob: draft', () => {
  test('a sidecar that does not lie beside the model drafts, and the output stays', async () => {
    const without = await once();
    expect(without.counters.offered).toBe(0);
    const drafted = await once('--draft', sidecar, '--conf', '0');
    expect(drafted.counters.offered).toBeGreaterThan(0);
    expect(drafted.counters.draft.bytes).toBeGreaterThan(0);
    expect(output(drafted)).toEqual(output(plain));
    expect(output(without)).toEqual(output(plain));
  });

  test('the sidecar has a fingerprint of its own: the weights are the same with it and without', async () => {
    const ready = async (...knobs: string[]) =>
      (await generateOnce(['--model', model, '--ctx', '256', ...knobs], body)).ready;
    const without = await ready();
    const drafting = await ready('--draft', sidecar);
    const off = await ready('--draft', sidecar, '--depth', '0');
    expect(drafting.fingerprint).toBe(without.fingerprint);
    expect(off.fingerprint).toBe(without.fingerprint);
    expect(drafting.draft_fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(drafting.draft_fingerprint).not.toBe(drafting.fingerprint);
    expect([without.draft_fingerprint, off.draft_fingerprint]).toEqual([null, null]);
  });

  test('a sidecar that is not there is named', () => {
    const { code, stderr } = runStrata(['--model', model, '--draft', '/no/such/sidecar.gguf']);
    expect(code).toBe(3);
    expect(stderr).toMatch(/^rota-strata: .*\/no\/such\/sidecar\.gguf.*\n$/);
  });
});

describe('knob: draft-oracle', () => {
  test('drafts come from the file and are all kept, and the output stays', async () => {
    const { counters, ...done } = await once('--draft-oracle', oracle, '--depth', '3');
    expect(counters.offered).toBeGreaterThan(0);
    expect(counters.accepted).toBe(counters.offered);
    expect(counters.passes).toBe(24 / 4);
    expect(output({ counters, ...done })).toEqual(output(plain));
  });
});

describe('knob: draft-corrupt', () => {
  test('every K-th draft is spoilt and refused, and the output stays', async () => {
    const all = await once('--draft-oracle', oracle, '--depth', '1', '--draft-corrupt', '1');
    expect(all.counters.accepted).toBe(0);
    expect(all.counters.passes).toBe(24);
    const half = await once('--draft-oracle', oracle, '--depth', '1', '--draft-corrupt', '2');
    expect(half.counters.accepted).toBe(24 / 3);
    for (const done of [all, half]) expect(output(done)).toEqual(output(plain));
  });

  test('it says that it needs an oracle', () => {
    const { code, stderr } = runStrata(['--model', model, '--draft-corrupt', '2']);
    expect([code, stderr]).toEqual([2, 'rota-strata: --draft-corrupt needs --draft-oracle FILE\n']);
  });
});

describe('knob: draft-accept', () => {
  test('each draft is kept with that probability, and the output stays', async () => {
    const all = await once('--draft-accept', '1', '--depth', '3');
    expect(all.counters.accepted).toBe(all.counters.offered);
    expect(all.counters.passes).toBe(24 / 4);
    const none = await once('--draft-accept', '0', '--depth', '3');
    expect(none.counters.accepted).toBe(0);
    expect(none.counters.passes).toBe(24);
    for (const done of [all, none]) expect(output(done)).toEqual(output(plain));
    // What is read ahead is no pass and no row of one.
    expect(all.counters.rows).toBe(all.counters.passes + all.counters.offered);
  });

  test('of many sampled drafts that share is accepted: a count within its binomial interval', async () => {
    const { engine } = await Strata.start(['--model', model, '--draft-accept', '0.5', '--depth', '1']);
    await using _ = engine;
    let offered = 0;
    let accepted = 0;
    for (let seed = 0; seed < 40; seed++) {
      const sampling = { temperature: 0.8, top_p: 0.9, seed, ignore_eos: true };
      const { counters } = await engine.generate({ ...body, ...sampling, id: seed, op: 'generate' });
      offered += counters.offered;
      accepted += counters.accepted;
    }
    expect(offered).toBeGreaterThan(500);
    // Two-sided 0.002 of a normal; seeds are fixed, so the count is always the same.
    expect(Math.abs(accepted - offered / 2)).toBeLessThan(3.0902 * Math.sqrt(offered / 4));
  });

  test('it does not go with drafts from a file', () => {
    const { code, stderr } = runStrata(['--model', model, '--draft-oracle', oracle, '--draft-accept', '0.5']);
    expect([code, stderr]).toEqual([
      2,
      'rota-strata: --draft-accept and --draft-oracle exclude each other\n',
    ]);
  });
});

describe('knob: ledger', () => {
  test('a line a pass, written when the request ends, and the output and its counters stay', async () => {
    const file = path.join(folder.path, 'ledger.jsonl');
    const { engine } = await Strata.start([
      '--model',
      model,
      '--ctx',
      '256',
      '--depth',
      '0',
      '--ledger',
      file,
    ]);
    await using _ = engine;
    const done = await engine.generate(body);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(done.counters.passes);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ pass: done.counters.passes - 1, rows: 1 });
    expect(output(done)).toEqual(output(plain));
    expect({ ...done.counters, late: 0, prefetch: null }).toEqual({
      ...plain.counters,
      late: 0,
      prefetch: null,
    });
  });

  test('a ledger that cannot be written is a bad value', () => {
    const { code, stderr } = runStrata(['--model', model, '--ledger', '/no/such/folder/ledger']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^rota-strata: .*\/no\/such\/folder\/ledger.*\n$/);
    expect(existsSync('/no/such/folder')).toBe(false);
  });
});
