// Records of a wrong shape: every part that is missing or of another type is named, and nothing good is refused.

import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { InvalidRecordError } from '../../src/core/errors.ts';
import { readPlan, readVerdict } from '../../src/results/read.ts';
import { runFolder } from '../../src/results/run-folder.ts';

import { planFault, verdictFault } from '../../src/results/shapes.ts';
import { makeRecord, twice, verdictOf } from '../core/verdict/record.ts';
import { temporaryFolder } from '../engines/helpers/fake.ts';

const record = makeRecord({
  ...twice,
  ledger: () => ({ pool: 100 }),
  arm: (name) =>
    name === 'base'
      ? {}
      : {
          lossyKnobs: ['route-bias'],
          lossyInUse: ['route-bias'],
          overrides: ['seed 2'],
          sampling: { temperature: 0, topP: 1, seed: 2 },
          build: { ref: 'v1', commit: 'abc' },
          counting: { file: 'subset', unit: 'blob' },
          ledgerFlag: '--ledger',
          knobs: { threads: 2, pin: true, slots: '25%' },
        },
});

type Json = Record<string, unknown>;

/** Every copy of a value with one part of it taken away or turned into something else. */
function* damaged(value: Json, at = ''): Generator<{ at: string; copy: Json }> {
  for (const [key, part] of Object.entries(value)) {
    const path = at === '' ? key : `${at}.${key}`;
    const { [key]: _, ...without } = value;
    if (!Array.isArray(value)) yield { at: `${path} gone`, copy: without };
    const other = { ...value, [key]: typeof part === 'object' && part !== null ? 'x' : { odd: [] } };
    yield { at: `${path} other`, copy: Array.isArray(value) ? (Object.values(other) as never) : other };
    if (typeof part !== 'object' || part === null) continue;
    for (const inner of damaged(part as Json, path)) {
      const whole = { ...value, [key]: inner.copy };
      yield { at: inner.at, copy: Array.isArray(value) ? (Object.values(whole) as never) : whole };
    }
  }
}

/** Parts that may be absent, and those whose names are free. */
const FREE =
  /(^|\.)(bounds|causes|binds|fileBytesPerToken|joulesPerToken|ledgerFlag|lossy|overrides|lossyInUse|counting|sampling|build|evidence|split|deadKnobs|knobs\.\w+|env\.\w+) gone$/;

test.each([
  ['plan', record.plan, planFault],
  ['verdict', verdictOf(record), verdictFault],
] as const)('%s: good as it is, and every damage is found', (_, value, fault) => {
  expect(fault(value)).toBeNull();
  const plain = JSON.parse(JSON.stringify(value)) as Json;
  let seen = 0;
  for (const { at, copy } of damaged(plain)) {
    if (FREE.test(at)) continue;
    seen += 1;
    expect([at, fault(copy)]).not.toEqual([at, null]);
  }
  expect(seen).toBeGreaterThan(100);
  for (const odd of [null, [], 7, 'x', {}]) expect(fault(odd)).not.toBeNull();
});

test('the first fault is named by its place; what is not known yet is left alone', () => {
  const verdict = verdictOf(record);
  expect(verdictFault({ ...verdict, complete: 'yes' })).toBe(
    'complete: Invalid input: expected boolean, received string',
  );
  expect(verdictFault({ ...verdict, steadiness: 1 })).toBeNull();
});

test('a file of a wrong shape is a record that was altered, and so is one of a later version', () => {
  using folder = temporaryFolder();
  const run = runFolder(folder.path);
  const told = (read: () => unknown): string => {
    try {
      return JSON.stringify(read());
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidRecordError);
      return (error as Error).message.replaceAll(folder.path, '<run>');
    }
  };
  const verdict = (text: string): string => {
    writeFileSync(run.verdict, text);
    return told(() => readVerdict(run));
  };
  expect(told(() => readVerdict(run))).toBe('null');
  expect(told(() => readPlan(run))).toBe('<run>: has no plan.json, so it is no run folder');
  expect([verdict('{'), verdict('{}'), verdict('{"schemaVersion":2}'), verdict('[]')]).toMatchInlineSnapshot(`
    [
      "<run>/verdict.json: is not JSON: the record was altered after it was written",
      "<run>/verdict.json: schemaVersion: Invalid input: expected 1: the record was altered after it was written",
      "<run>/verdict.json: schema version 2; this rota reads version 1",
      "<run>/verdict.json: Invalid input: expected object, received array: the record was altered after it was written",
    ]
  `);
  writeFileSync(run.plan, JSON.stringify({ ...record.plan, arms: {} }));
  expect(told(() => readPlan(run))).toContain('<run>/plan.json: arms: ');
});
