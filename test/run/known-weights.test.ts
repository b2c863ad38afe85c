// Weights that changed between runs of a record, in one session or over several.

import { expect, test } from 'vitest';
import type { EngineReady } from '../../src/core/records/answer.ts';
import { createKnownWeights, weightsOf } from '../../src/run/known-weights.ts';
import { makeRecord } from '../core/verdict/record.ts';

const arm = (name: string, model = 'm.gguf') => ({ name, engine: 'strata', model });
const ready = (
  fingerprint: string | null,
  draftFingerprint: string | null,
): Pick<EngineReady, 'fingerprint' | 'draftFingerprint'> => ({ fingerprint, draftFingerprint });

test('the first that is shown is what later runs must show, the drafter by arm', () => {
  const known = createKnownWeights();
  expect(known.meet(arm('base'), ready('f', 'd'))).toBeNull();
  expect(known.meet(arm('plain'), ready('f', null))).toBeNull();
  // Another sidecar of its own is what an arm may have.
  expect(known.meet(arm('other'), ready('f', 'e'))).toBeNull();
  expect(known.meet(arm('base'), ready('f', 'e'))).toBe('drafter');
  expect(known.meet(arm('base'), ready('g', 'e'))).toBe('model');
  expect(known.meet(arm('plain'), ready('g', null))).toBe('model');
  expect(known.meet(arm('base', 'n.gguf'), ready('g', 'e'))).toBeNull();
  expect(known.meet(arm('base'), { fingerprint: null })).toBeNull();
});

test('a record that is resumed knows what its earlier sessions saw', () => {
  const { plan, events } = makeRecord({ draftFingerprint: () => 'd' });
  const [base] = plan.arms;
  if (base === undefined) throw new Error('no arm');
  expect(weightsOf(plan, events).meet(base, ready('f', 'd'))).toBeNull();
  expect(weightsOf(plan, events).meet(base, ready('f', 'e'))).toBe('drafter');
  expect(weightsOf(plan, events).meet(base, ready('g', 'd'))).toBe('model');
});
