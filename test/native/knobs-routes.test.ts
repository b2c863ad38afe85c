// Routes that an engine writes down, the rank that is made of them, and what that rank is worth.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bin, type Json, runStrata, Strata, synthesise } from './helpers/strata.ts';
import { BODIES, DRAFTED, expectExact, lookups, type Played, play, QUARTERS, sum } from './helpers/tiers.ts';
import { withModel } from './helpers/workspace.ts';

const { folder, model } = withModel('mini-xs');
const routes = path.join(folder.path, 'routes.bin');
// Slots stay as they were loaded, so that the order alone decides what is held.
const STILL = [...QUARTERS, '--lru-window', '0'];
let base: Played;
let dumped: Played;

beforeAll(async () => {
  base = await play(model, STILL);
  dumped = await play(model, STILL, '--dump-routes', routes);
});

function rankOf(file: string, ...flags: string[]): { readonly path: string; readonly lines: string[] } {
  const out = path.join(folder.path, 'rank.txt');
  execFileSync(path.join(bin, 'rota-model'), ['rank', '--routes', file, '--out', out, ...flags], {
    stdio: 'pipe',
  });
  return { path: out, lines: readFileSync(out, 'utf8').trimEnd().split('\n') };
}

interface Row {
  readonly kind: number;
  readonly experts: readonly number[];
}

/** By the format's description in native/experts/routes.h. */
function readRoutes(file: string): { readonly header: readonly number[]; readonly rows: Row[] } {
  const bytes = readFileSync(file);
  expect(bytes.toString('latin1', 0, 8)).toBe('ROTAROUT');
  const header = [8, 12, 16, 20].map((at) => bytes.readUInt32LE(at));
  const [, layers = 0, , topK = 0] = header;
  const rows: Row[] = [];
  for (let at = 24; at < bytes.length; at += 2 + 2 * layers * topK) {
    const experts = Array.from({ length: layers * topK }, (_, i) => bytes.readUInt16LE(at + 2 + 2 * i));
    rows.push({ kind: bytes.readUInt16LE(at), experts });
  }
  return { header, rows };
}

describe('knob: dump-routes', () => {
  test('writes a row for each of the prompt and of decode, and changes nothing', () => {
    expectExact(dumped, base);
    const { layers, experts, top_k } = dumped.ready.model;
    const { header, rows } = readRoutes(routes);
    expect(header).toEqual([1, layers, experts, top_k]);
    const prompt = sum(dumped, ({ prefill }) => prefill.rows);
    const decode = sum(dumped, (counters) => counters.rows);
    expect(rows.map(({ kind }) => kind).filter((kind) => kind === 0)).toHaveLength(prompt);
    expect(rows.map(({ kind }) => kind).filter((kind) => kind === 1)).toHaveLength(decode);
    expect(statSync(routes).size).toBe(24 + (prompt + decode) * 2 * (1 + layers * top_k));
    for (const row of rows) {
      for (let layer = 0; layer < layers; layer++) {
        const chosen = row.experts.slice(layer * top_k, (layer + 1) * top_k);
        expect(new Set(chosen).size).toBe(top_k);
        expect(Math.max(...chosen)).toBeLessThan(experts);
      }
    }
  });

  test('marks the rows of verify passes, and tells the same routes however they were decoded', async () => {
    const file = path.join(folder.path, 'verify.bin');
    const { done } = await play(model, DRAFTED, '--dump-routes', file);
    const rows = readRoutes(file).rows.filter(({ kind }) => kind !== 0);
    expect(rows.filter(({ kind }) => kind === 2).length).toBeGreaterThan(0);
    expect(rows).toHaveLength(done.reduce((total, { counters }) => total + counters.rows, 0));
    const verified = new Set(rows.map(({ experts }) => experts.join()));
    const plain = readRoutes(routes).rows.filter(({ kind }) => kind === 1);
    for (const { experts } of plain) expect(verified).toContain(experts.join());
  });

  test('a full disk is the error of the request; the engine lives', async () => {
    const { engine } = await Strata.start(['--model', model, ...STILL, '--dump-routes', '/dev/full']);
    await using _ = engine;
    for (let id = 101; id <= 102; id++) {
      engine.send({ id, op: 'generate', ignore_eos: true, ...(BODIES[0] as Json) });
      expect(await engine.next('error')).toEqual({
        event: 'error',
        id,
        code: 'io',
        message: '--dump-routes /dev/full: cannot write: No space left on device',
      });
    }
    await engine.reset();
  });
});

describe('knob: rank', () => {
  test('a rank of its own routes raises the hit share, and the load says which order it is', async () => {
    const { path: rank, lines } = rankOf(routes);
    const { layers, experts, top_k } = base.ready.model;
    expect(lines).toHaveLength(1 + layers * experts);
    const { engine, ready } = await Strata.start(['--model', model, ...STILL, '--rank', rank]);
    await using _ = engine;
    const ranked: Played = {
      ready,
      done: [await engine.generate(BODIES[0] as Json), await engine.generate(BODIES[1] as Json)],
    };
    expectExact(ranked, base);
    expect(lookups(ranked, 'hit')).toBeGreaterThan(lookups(base, 'hit') * 1.1);
    // The hits are the uses of the experts that the slots hold: the head of the rank, counted here.
    const uses = new Map<string, number>();
    for (const { kind, experts: row } of readRoutes(routes).rows) {
      if (kind === 0) continue;
      for (const [i, expert] of row.entries()) {
        const key = `${Math.floor(i / top_k)} ${expert}`;
        uses.set(key, (uses.get(key) ?? 0) + 1);
      }
    }
    const head = lines.slice(1, 1 + Number(ready.sizes['slots']));
    expect(lookups(ranked, 'hit')).toBe(head.reduce((total, line) => total + (uses.get(line) ?? 0), 0));
    const sha256 = createHash('sha256').update(readFileSync(rank)).digest('hex');
    expect(base.ready.rank).toEqual({ order: 'index' });
    expect(ready.rank).toEqual({ order: 'file', file: rank, sha256 });
    expect(engine.stderr).toContain(`; experts in the order of ${rank} (sha256 ${sha256})\n`);
  });

  test('beside names the file that lies beside the model, and one that is not there is named', async () => {
    const hot = synthesise(folder.path, 'mini-xs2', '--hot-experts', '0.4', '--hot-lookups', '0.6');
    const { ready } = await play(hot, STILL, '--rank', 'beside');
    expect(ready.rank).toMatchObject({ order: 'file', file: hot.replace(/gguf$/, 'rank') });
    const { code, stderr } = runStrata(['--model', model, ...STILL, '--rank', 'beside']);
    expect([code, stderr]).toEqual([
      2,
      `rota-strata: --rank: ${model.replace(/gguf$/, 'rank')}: cannot open: No such file or directory\n`,
    ]);
  });

  test('counts the rows it is asked for', () => {
    expect(rankOf(routes, '--rows', 'prompt').lines).not.toEqual(rankOf(routes).lines);
  });
});
