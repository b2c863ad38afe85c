// Arms with a build, engine, model or sampling of their own: named in every line, and held to what can be compared.

import { expect, test } from 'vitest';
import type { PlannedArm } from '../../../src/core/records/plan.ts';
import { makeRecord, type RecordOptions, row, twice, verdictOf } from './record.ts';

function judged(fast: Partial<PlannedArm>, more: RecordOptions = {}): string[] {
  const arm: RecordOptions['arm'] = (name) => (name === 'fast' ? fast : {});
  const { output, outputReason, line } = row(verdictOf(makeRecord({ ...twice, ...more, arm })), 'fast');
  return [output, outputReason, line];
}

test('other sampling is never the same output, although the ids are equal', () => {
  const sampling = { temperature: 0, topP: 1, seed: 2 };
  expect(judged({ overrides: ['seed 2'], sampling })).toMatchInlineSnapshot(`
    [
      "LX",
      "not the same work: seed 2",
      "[seed 2] output not verified, 2.01× faster (1.99–2.03) (not the same work: seed 2)",
    ]
  `);
});

test('another model is never the same output, unless both engines prove that it is the same weights', () => {
  const other = { overrides: ['model b.gguf'], model: 'b.gguf' };
  expect(judged(other, { fingerprint: (arm) => arm })).toMatchInlineSnapshot(`
    [
      "LX",
      "not the same work: model b.gguf",
      "[model b.gguf] output not verified, 2.01× faster (1.99–2.03) (not the same work: model b.gguf)",
    ]
  `);
  expect(judged(other, { fingerprint: () => null })).toMatchInlineSnapshot(`
    [
      "LX",
      "not the same work: model b.gguf",
      "[model b.gguf] output not verified, 2.01× faster (1.99–2.03) (not the same work: model b.gguf)",
    ]
  `);
  expect(judged(other)).toMatchInlineSnapshot(`
    [
      "L0",
      "ids equal in all 8 requests, passes, acceptance and finish reasons too",
      "[model b.gguf] same output, 2.01× faster (1.99–2.03)",
    ]
  `);
});

test('another build or engine is judged by its ids, as any knob is', () => {
  expect(judged({ overrides: ['build v2 (abc)'] })).toMatchInlineSnapshot(`
    [
      "L0",
      "ids equal in all 8 requests, passes, acceptance and finish reasons too",
      "[build v2 (abc)] same output, 2.01× faster (1.99–2.03)",
    ]
  `);
  expect(judged({ overrides: ['engine vllm'], engine: 'vllm' })).toMatchInlineSnapshot(`
    [
      "L0",
      "ids equal in all 8 requests, passes, acceptance and finish reasons too",
      "[engine vllm] same output, 2.01× faster (1.99–2.03)",
    ]
  `);
  const drawn = { plan: { sampling: { temperature: 0.7, topP: 1, seed: 1 } } };
  expect(judged({ overrides: ['engine vllm'], engine: 'vllm' }, drawn)).toMatchInlineSnapshot(`
    [
      "LX",
      "not the same work: engine vllm, which draws other random numbers",
      "[engine vllm] output not verified, 2.01× faster (1.99–2.03) (not the same work: engine vllm, which draws other random numbers)",
    ]
  `);
});

test('it is the arm that differs from the baseline, whichever of the two has the override', () => {
  const sampling = { temperature: 0.7, topP: 1, seed: 1 };
  const arm: RecordOptions['arm'] = (name) =>
    name === 'base' ? { overrides: ['temperature 0.7'], sampling } : {};
  const verdict = verdictOf(makeRecord({ ...twice, arm }));
  expect(row(verdict, 'fast').outputReason).toBe('not the same work: the baseline overrides it');
  expect(row(verdict, 'base').line).toMatchInlineSnapshot(`"[temperature 0.7] baseline, 100.0 tok/s"`);
  const both: RecordOptions['arm'] = () => ({ overrides: ['temperature 0.7'], sampling });
  expect(row(verdictOf(makeRecord({ ...twice, arm: both })), 'fast').output).toBe('L0');
});

test('lossy knobs in use are said of the baseline too, and of an arm whose output stayed', () => {
  const arm: RecordOptions['arm'] = () => ({ lossyInUse: ['route-bias'] });
  const verdict = verdictOf(makeRecord({ ...twice, arm }));
  expect(row(verdict, 'base')).toMatchObject({ lossy: ['route-bias'] });
  expect([row(verdict, 'base').line, row(verdict, 'fast').line]).toMatchInlineSnapshot(`
    [
      "[lossy: route-bias] baseline, 100.0 tok/s",
      "[lossy: route-bias] same output, 2.01× faster (1.99–2.03)",
    ]
  `);
});
