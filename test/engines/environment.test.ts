// Variables that set a knob do not leak from whoever starts Rota into every arm.

import { readFileSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { inheritedNotice, inheritedVariables, withoutKnobs } from '../../src/engines/environment.ts';
import type { KnobSpecs } from '../../src/schema/knobs.ts';
import { startFake } from './helpers/fake.ts';

const summary = 's';
const knobs: KnobSpecs = {
  share: { type: 'number', flag: '--share', effect: 'exact', summary, aliases: [{ name: 'STRATA_SHARE' }] },
  kernel: { type: 'string', env: 'STRATA_KERNEL', effect: 'exact', summary },
  counts: { type: 'path', flag: '--c', effect: 'exact', summary, aliases: [{ name: 'STRATA_KEEP' }] },
  keep: { type: 'int', flag: '--k', effect: 'exact', summary, aliases: [{ name: 'STRATA_KEEP' }] },
};

afterEach(() => vi.unstubAllEnvs());

test('what sets a knob is found, named and left out; the rest stays', () => {
  const environment = { PATH: '/bin', STRATA_SHARE: '1', STRATA_KEEP: '', STRATA_OTHER: '2' };
  expect(inheritedVariables(knobs, environment)).toEqual(['STRATA_KEEP', 'STRATA_SHARE']);
  expect(withoutKnobs(knobs, environment)).toEqual({ PATH: '/bin', STRATA_OTHER: '2' });
  expect(inheritedNotice(knobs, environment)).toBe(
    'kept from the engine, for only an arm sets knobs: STRATA_KEEP (counts, keep), STRATA_SHARE (share) of the environment',
  );
  expect(inheritedNotice(knobs, { PATH: '/bin' })).toBeNull();
});

test('a short name for an arm is no variable: a shell may use the word for something else', () => {
  const short: KnobSpecs = {
    bias: {
      type: 'number',
      flag: '--b',
      effect: 'lossy',
      summary,
      aliases: [{ name: 'b' }, { name: 'STRATA_B' }],
    },
  };
  expect(inheritedVariables(short, { b: '1', STRATA_B: '1' })).toEqual(['STRATA_B']);
});

test('an engine is started without them', async () => {
  vi.stubEnv('STRATA_SHARE', '0.5');
  vi.stubEnv('STRATA_KERNEL', 'portable');
  vi.stubEnv('STRATA_OTHER', 'stays');
  await using fake = await startFake('shows-environment', { knobs });
  await fake.session.ready();
  expect(readFileSync(fake.logFile, 'utf8')).toBe(
    'STRATA_OTHER=stays\nfake engine shows-environment starts\n',
  );
});
