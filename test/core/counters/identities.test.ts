// The identities: what honest counters satisfy, and that each lie is caught by the identity that is about it.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { brokenIdentities, type Counted } from '../../../src/core/counters/identities.ts';
import type { Counters, CountingRule, Lookups } from '../../../src/core/records/answer.ts';

const OWN: CountingRule = { file: 'disjoint', unit: 'lookup' };
const shape = { moeLayers: 4, topK: 2 };

const honest = {
  tokens: 20,
  ids: Array.from({ length: 20 }, (_, i) => i),
  counters: {
    passes: 9,
    rows: 30,
    lookups: 240,
    bySource: { hit: 100, pcie: 20, cpu: 80, file: 40, skipped: 0 },
    bytes: { hit: 1, pcie: 1, cpu: 1, file: 1, dense: 1, engram: 1 },
    offered: 21,
    accepted: 10,
    late: 3,
  },
} satisfies Counted;

function lie(change: Partial<Omit<Counters, 'bySource'>> & { bySource?: Partial<Lookups> }): Counted {
  const { bySource, ...rest } = change;
  return {
    ...honest,
    counters: { ...honest.counters, ...rest, bySource: { ...honest.counters.bySource, ...bySource } },
  };
}

const texts = (counted: Counted, rule = OWN): string[] =>
  brokenIdentities(counted, shape, rule).map(({ text }) => text);

test('honest counters break nothing', () => {
  expect(texts(honest)).toEqual([]);
  expect(texts({ ...honest, tokens: 18, ids: null })).toEqual([]);
});

test('each lie is caught, with both numbers', () => {
  expect(texts(lie({ bySource: { cpu: 79 } }))).toMatchInlineSnapshot(`
    [
      "lookups = hit + pcie + cpu + file + skipped: 240 ≠ 239",
    ]
  `);
  expect(texts(lie({ rows: 31 }))).toMatchInlineSnapshot(`
    [
      "lookups = rows × MoE layers × top-k: 240 ≠ 248",
    ]
  `);
  expect(texts(lie({ accepted: 22 }))).toMatchInlineSnapshot(`
    [
      "accepted ≤ offered: 22 > 21",
      "tokens = accepted + passes, to within 1: 20 ≠ 31",
    ]
  `);
  expect(texts({ ...honest, tokens: 22, ids: null })).toMatchInlineSnapshot(`
    [
      "tokens = accepted + passes, to within 1: 22 ≠ 19",
    ]
  `);
  expect(texts({ ...honest, ids: [1] })).toMatchInlineSnapshot(`
    [
      "tokens = number of ids: 20 ≠ 1",
    ]
  `);
  expect(texts(lie({ late: 41 }))).toMatchInlineSnapshot(`
    [
      "late ≤ file: 41 > 40",
    ]
  `);
  expect(texts(lie({ passes: 8.5 }))).toMatchInlineSnapshot(`
    [
      "passes is a whole number: 8.5 ≠ 9",
      "tokens = accepted + passes, to within 1: 20 ≠ 18.5",
    ]
  `);
  expect(texts(lie({ passes: 31, accepted: 0, offered: 0 }))).toMatchInlineSnapshot(`
    [
      "passes ≤ rows: 31 > 30",
      "tokens = accepted + passes, to within 1: 20 ≠ 31",
    ]
  `);
});

test('any single source that loses or gains lookups is caught', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('hit', 'pcie', 'cpu', 'file', 'skipped'),
      fc.integer({ min: 1, max: 1000 }),
      (source, extra) => {
        const changed = lie({ bySource: { [source]: honest.counters.bySource[source] + extra } });
        expect(texts(changed)).toHaveLength(1);
      },
    ),
  );
});

test('unknown is not 0: an identity that needs an unknown number is not checked', () => {
  expect(texts(lie({ bySource: { hit: null } }))).toEqual([]);
  expect(texts(lie({ lookups: null }))).toEqual([]);
  expect(texts(lie({ passes: null, accepted: null, offered: null, rows: null }))).toEqual([]);
  expect(brokenIdentities(lie({ rows: 31 }), { moeLayers: null, topK: 2 }, OWN)).toEqual([]);
});

test('subset: a file read is counted as cpu too, and cannot exceed it', () => {
  const rule: CountingRule = { file: 'subset', unit: 'lookup' };
  expect(texts(honest, rule)).toHaveLength(1);
  expect(texts(lie({ bySource: { cpu: 120 } }), rule)).toEqual([]);
  expect(texts(lie({ bySource: { cpu: 120, file: 121 } }), rule)).toMatchInlineSnapshot(`
    [
      "file ≤ cpu: 121 > 120",
    ]
  `);
});

test('blob: distinct experts are at most what the rows asked for', () => {
  const rule: CountingRule = { file: 'disjoint', unit: 'blob' };
  expect(texts(lie({ lookups: 200, bySource: { hit: 60 } }), rule)).toEqual([]);
  expect(texts(lie({ lookups: 241, bySource: { hit: 101 } }), rule)).toMatchInlineSnapshot(`
    [
      "lookups ≤ rows × MoE layers × top-k: 241 > 240",
    ]
  `);
});
