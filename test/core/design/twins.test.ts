// Arms that would run the very same command.

import { expect, test } from 'vitest';
import { twinArms } from '../../../src/core/design/twins.ts';

test('the same words and the same environment, in whatever order its names were set', () => {
  const arms = [
    { name: 'a', argv: ['x', '--n', '1'], env: { P: '1', Q: '2' } },
    { name: 'b', argv: ['x', '--n', '1'], env: { Q: '2', P: '1' } },
    { name: 'c', argv: ['x', '--n', '1'], env: { P: '1' } },
    { name: 'd', argv: ['x', '--n 1'], env: { P: '1' } },
  ];
  expect(twinArms(arms)).toEqual([['a', 'b']]);
});
