// Arms that would measure the very same thing, in whatever words.

import { expect, test } from 'vitest';
import { type TwinCandidate, twinArms } from '../../../src/core/design/twins.ts';

const twins = (...arms: TwinCandidate[]): string[] =>
  twinArms(arms).map(({ first, second, by }) => `${first} = ${second} by ${by}`);

test('the same words and the same environment, in whatever order its names were set', () => {
  expect(
    twins(
      { name: 'a', argv: ['x', '--n', '1'], env: { P: '1', Q: '2' } },
      { name: 'b', argv: ['x', '--n', '1'], env: { Q: '2', P: '1' } },
      { name: 'c', argv: ['x', '--n', '1'], env: { P: '1' } },
      { name: 'd', argv: ['x', '--n 1'], env: { P: '1' } },
    ),
  ).toEqual(['a = b by command']);
});

test('the same settings in other words', () => {
  const settings = { threads: 2 };
  const env = {};
  expect(
    twins(
      { name: 'a', argv: ['x'], env, settings },
      { name: 'b', argv: ['x', '--threads', '2'], env, settings },
      { name: 'c', argv: ['x', '--threads', '3'], env, settings: { threads: 3 } },
    ),
  ).toEqual(['a = b by settings']);
});

test('other sampling is other work, by the same command too', () => {
  const sampling = { temperature: 0.7, topP: 1, seed: 1 };
  const arm = { argv: ['x'], env: {}, settings: 1 };
  expect(twins({ ...arm, name: 'a' }, { ...arm, name: 'b', sampling })).toEqual([]);
  expect(twins({ ...arm, name: 'a', sampling }, { ...arm, name: 'b', sampling: { ...sampling } })).toEqual([
    'a = b by command',
  ]);
});
