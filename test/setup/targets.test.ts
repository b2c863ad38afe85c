// What a set-up for `rota run` builds is what the bundled engines may start.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { DEMO_TARGETS } from '../../bin/setup/targets.js';
import { engineNames, loadDescriptor } from '../../src/schema/load.ts';

const ENGINES = fileURLToPath(new URL('../../engines', import.meta.url));
const BESIDE = '{folder}/';

test('the engine, and every program beside it that a knob puts in front', () => {
  const bundled = engineNames(ENGINES)
    .map((name) => loadDescriptor(ENGINES, name))
    .filter((descriptor) => descriptor.bundled);
  const started = bundled.flatMap(({ binary, knobs }) => [
    path.basename(binary ?? ''),
    ...Object.values(knobs)
      .flatMap(({ prefix = [] }) => prefix)
      .flatMap((word) => (word.startsWith(BESIDE) ? word.slice(BESIDE.length) : [])),
  ]);
  expect(started).toContain('rota-throttle');
  expect(DEMO_TARGETS).toEqual(expect.arrayContaining(started));
  // `rota build` makes all of them too.
  const built = bundled.flatMap(({ build }) => build?.targets ?? []);
  expect(built).toEqual(expect.arrayContaining(DEMO_TARGETS));
});
