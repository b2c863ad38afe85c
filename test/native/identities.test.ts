// The books of a real engine: every lookup has one source, every byte belongs to a blob, and all that speak of a request
// (done, ledger, stderr) say the same.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Counters,
  type Done,
  lighter,
  promptOf,
  type Ready,
  SOURCES,
  type Source,
  Strata,
  synthesise,
  type Work,
} from './helpers/strata.ts';
import { workspace } from './helpers/workspace.ts';

interface LedgerLine extends Record<Source, number> {
  id: number;
  pass: number;
  kind: string;
  rows: number;
  offered: number;
  accepted: number;
  skipped: number;
  late: number;
  distinct: Record<Source, number>;
  blobs: Partial<Record<Source, Record<string, number>>>;
  bytes: Record<Source | 'dense' | 'engram' | 'pool', number>;
  ms: Record<'total' | 'draft' | 'dense' | 'experts' | 'pool' | 'file_wait', number>;
}

const folder = workspace();
const ledgerFile = path.join(folder.path, 'ledger.jsonl');
let ready: Ready;
let done: Done;
let ledger: LedgerLine[];
let stderr: string;

const NEW_TOKENS = lighter(200);
/** Of sums and differences of some hundred doubles of milliseconds. */
const FLOAT_SLACK_MS = 1e-9;
const prompt = promptOf(90, 1024);

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

beforeAll(async () => {
  const model = synthesise(folder.path, 'mini-s', '--expert-format', 'mixed');
  const knobs = ['--slots', '25%', '--arena', '25%', '--pcie', '0.3', '--batch-pcie', '0.4', '--conf', '0'];
  const started = await Strata.start(['--model', model, ...knobs, '--ledger', ledgerFile]);
  await using engine = started.engine;
  ready = started.ready;
  done = await engine.generate({ prompt, max_new: NEW_TOKENS });
  ledger = readFileSync(ledgerFile, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LedgerLine);
  stderr = engine.stderr;
});

test('the model is what was asked for, and its experts are in three tiers and three formats', () => {
  const { model, sizes, formats } = ready;
  expect(model).toMatchObject({ layers: 8, moe_layers: 8, experts: 32, top_k: 4, vocab: 1024 });
  expect(Object.keys(formats).sort()).toEqual(['PTQ1_0', 'Q2_0', 'Q3_K']);
  expect(sum(Object.values(formats))).toBe(8 * 32);
  expect(Number(sizes['slots']) + Number(sizes['arena_experts']) + Number(sizes['file_experts'])).toBe(
    8 * 32,
  );
  const all = sum(Object.entries(formats).map(([name, n]) => n * (ready.blob_bytes[name] ?? Number.NaN)));
  const largest = Math.max(...Object.values(ready.blob_bytes));
  for (const tier of ['slots_bytes', 'arena_bytes']) {
    expect(sizes[tier]).toBeLessThanOrEqual(all / 4);
    expect(sizes[tier]).toBeGreaterThan(all / 4 - largest);
  }
  expect(ready.lossy).toEqual([]);
  expect(ready.fingerprint).toMatch(/^[0-9a-f]{64}$/);
});

test('as many tokens come out as were asked for, and rows, passes and acceptance agree', () => {
  const { counters, pass_tokens, pass_ms } = done;
  expect(done.ids).toHaveLength(NEW_TOKENS);
  expect(done.finish).toBe('length');
  expect(counters.passes).toBe(pass_ms.length);
  expect(sum(pass_tokens)).toBe(NEW_TOKENS - 1);
  expect(counters.rows).toBe(counters.passes + counters.offered);
  expect(counters.accepted + counters.passes).toBe(NEW_TOKENS - 1);
  expect(counters.offered).toBeGreaterThan(0);
});

function checkWork(work: Work): void {
  const { layers, top_k } = ready.model;
  expect(work.lookups).toBe(work.rows * layers * top_k);
  expect(sum(SOURCES.map((source) => work[source])) + work.skipped).toBe(work.lookups);
  for (const source of SOURCES) {
    expect(work.distinct[source]).toBeLessThanOrEqual(work[source]);
    expect(work.bytes[source] === 0).toBe(work[source] === 0);
  }
  expect(work.bytes.dense).toBeGreaterThan(0);
}

test('lookups = hit + pcie + cpu + file + skipped = rows x layers x top-k, for decode and for the prompt', () => {
  checkWork(done.counters);
  checkWork(done.counters.prefill);
  expect(done.counters.prefill.rows).toBe(prompt.length);
  for (const source of SOURCES) expect(done.counters[source], source).toBeGreaterThan(0);
  expect(done.counters.prefill.pcie).toBe(0);
});

test('everything that moves is counted somewhere', () => {
  const { draft, engram, prefetch, admitted, demoted, late } = done.counters;
  // A draft is 3 stages over the whole block with 2 experts a row; a pass that wants one token more drafts nothing.
  const lookupsADraft = 3 * ready.model.draft_block * 2;
  expect([done.counters.passes, done.counters.passes - 1]).toContain(draft.lookups / lookupsADraft);
  expect(draft.bytes).toBeGreaterThan(0);
  expect(draft.dense_bytes).toBeGreaterThan(0);
  expect(engram.rows).toBeGreaterThan(0);
  expect(engram.bytes).toBe(done.counters.bytes.engram);
  expect(engram.bytes % engram.rows).toBe(0);
  expect(engram.bytes).toBeGreaterThan(engram.rows);
  expect(prefetch.issued).toBeGreaterThan(0);
  expect(prefetch.useful).toBeGreaterThan(0);
  expect(prefetch.useful).toBeLessThanOrEqual(prefetch.issued);
  expect(prefetch.late).toBeLessThanOrEqual(prefetch.useful);
  expect(late).toBeLessThanOrEqual(done.counters.file);
  expect(admitted).toBeGreaterThan(0);
  expect(demoted).toBeGreaterThan(0);
  expect(demoted).toBeLessThanOrEqual(admitted);
});

describe('the ledger', () => {
  test('has one line a decode pass and the sums of done', () => {
    const { counters } = done;
    expect(ledger.map((line) => line.pass)).toEqual(done.pass_ms.map((_, index) => index));
    const total = (of: (line: LedgerLine) => number): number => sum(ledger.map(of));
    expect(total((line) => line.rows)).toBe(counters.rows);
    expect(total((line) => line.offered)).toBe(counters.offered);
    expect(total((line) => line.accepted)).toBe(counters.accepted);
    expect(total((line) => line.skipped)).toBe(counters.skipped);
    for (const source of SOURCES) {
      expect(total((line) => line[source])).toBe(counters[source]);
      expect(total((line) => line.distinct[source])).toBe(counters.distinct[source]);
      expect(total((line) => line.bytes[source])).toBe(counters.bytes[source]);
    }
    expect(total((line) => line.bytes.dense)).toBe(counters.bytes.dense);
    expect(total((line) => line.bytes.engram)).toBe(counters.bytes.engram);
    // On the host every expert is computed by the CPU's pool, whatever tier it came from.
    expect(total((line) => line.bytes.pool)).toBe(sum(SOURCES.map((source) => counters.bytes[source])));
    expect(done.timings['pool_bytes']).toBe(total((line) => line.bytes.pool));
    // Of each line less than a microsecond is cut off.
    const cut = Number(done.timings['pool_ms']) - total((line) => line.ms.pool);
    expect(cut).toBeGreaterThan(-FLOAT_SLACK_MS);
    expect(cut).toBeLessThan(ledger.length / 1000);
  });

  test('balances in every pass: lookups and bytes', () => {
    const { layers, top_k } = ready.model;
    for (const line of ledger) {
      expect(sum(SOURCES.map((source) => line[source])) + line.skipped).toBe(line.rows * layers * top_k);
      expect(line.rows).toBe(1 + line.offered);
      expect(line.kind).toBe(line.rows === 1 ? 'decode' : 'verify');
      for (const source of SOURCES) {
        const blobs = Object.entries(line.blobs[source] ?? {});
        expect(sum(blobs.map(([, n]) => n))).toBe(line.distinct[source]);
        expect(sum(blobs.map(([format, n]) => n * (ready.blob_bytes[format] ?? Number.NaN)))).toBe(
          line.bytes[source],
        );
      }
    }
  });

  test('gives each pass its time and the causes of it', () => {
    for (const [index, line] of ledger.entries()) {
      const { total, draft, dense, experts, pool, file_wait } = line.ms;
      const cut = (done.pass_ms[index] ?? Number.NaN) - total;
      expect(cut).toBeGreaterThan(-FLOAT_SLACK_MS);
      expect(cut).toBeLessThan(1 / 1000);
      expect(draft + dense + experts).toBeLessThanOrEqual(total * 1.001);
      // Cut off downwards, parts stay below their whole.
      expect(pool + file_wait).toBeLessThan(experts + FLOAT_SLACK_MS);
      expect(line.ms.pool).toBeGreaterThan(0);
      expect(line.ms.experts).toBeGreaterThan(0);
    }
  });
});

test('the line on stderr agrees with the counters', () => {
  const line =
    /^serve: (\d+) tokens in ([\d.]+) s = ([\d.]+) tok\/s \| experts: (\d+) hit, (\d+) cpu, (\d+) pcie, (\d+) file$/m.exec(
      stderr,
    );
  const counters: Counters = done.counters;
  expect(line?.slice(4).map(Number)).toEqual([counters.hit, counters.cpu, counters.pcie, counters.file]);
  expect(Number(line?.[1])).toBe(NEW_TOKENS);
  expect(Number(line?.[3])).toBeCloseTo(Number(done.timings['predicted_per_second']), 1);
  const draft = /^serve: DSpark (\d+) passes, ([\d.]+) tokens\/pass$/m.exec(stderr);
  expect(Number(draft?.[1])).toBe(counters.passes);
  expect(Number(draft?.[2])).toBeCloseTo(NEW_TOKENS / counters.passes, 2);
  expect(stderr).toMatch(/^serve: prompt 90 tokens \(0 reused\) in [\d.]+ s = [\d.]+ tok\/s$/m);
  const { sizes } = ready;
  expect(stderr).toContain(`tier: host, ${sizes['slots']} resident slots, arena `);
  expect(stderr).toContain(
    ` GiB (${sizes['arena_experts']} experts), file tier ${sizes['file_experts']}; load `,
  );
});

test('timings are those of the passes', () => {
  const { timings, pass_ms } = done;
  expect(timings).toMatchObject({
    prompt_n: prompt.length,
    cache_n: 0,
    predicted_n: NEW_TOKENS,
    draft_n: done.counters.offered,
    draft_n_accepted: done.counters.accepted,
  });
  const predicted = Number(timings['predicted_ms']);
  expect(sum(pass_ms)).toBeLessThanOrEqual(predicted);
  expect(sum(pass_ms)).toBeGreaterThan(predicted * 0.9);
  expect(Number(timings['predicted_per_second'])).toBeCloseTo((NEW_TOKENS - 1) / (predicted / 1000), 6);
  expect(done.ttft_ms).toBeGreaterThanOrEqual(Number(timings['prompt_ms']));
});

test('digests are SHA-256 of the ids and of the last logits', () => {
  const bytes = Buffer.alloc(done.ids.length * 4);
  for (const [index, id] of done.ids.entries()) bytes.writeInt32LE(id, index * 4);
  expect(done.digest.ids).toBe(createHash('sha256').update(bytes).digest('hex'));
  expect(done.digest.logits).toMatch(/^[0-9a-f]{64}$/);
});
