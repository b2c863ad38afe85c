// From knobs to a command line: order, prefixes, environment, placeholders, and arms that are the same.

import { expect, test } from 'vitest';
import { UserError } from '../../src/core/errors.ts';
import { refuseEqualArms, resolveCommand } from '../../src/engines/resolve.ts';
import { parseDescriptor } from '../../src/schema/descriptor.ts';

const { descriptor } = parseDescriptor(
  `name: x
summary: x
binary: bin/x
command: ['{binary}', --model, '{model}']
transport: stdio
dialect: rota
tokenIds: true
counting: {file: disjoint, unit: lookup}
knobs:
  slots: {type: size, flag: --slots, effect: exact, summary: s}
  fast: {type: bool, flag: --fast, effect: exact, summary: s}
  cores: {type: string, prefix: [taskset, -c, '{value}'], effect: exact, summary: s}
  omp: {type: int, env: OMP_NUM_THREADS, effect: exact, summary: s}
`,
  'x.yaml',
);
const values = { binary: '/b/x', model: '/m y.gguf' };

test('prefix, command, then flags in the order of the descriptor', () => {
  const knobs = { omp: 2, cores: '0-3', fast: true, slots: '25%' };
  expect(resolveCommand(descriptor, knobs, values)).toEqual({
    argv: ['taskset', '-c', '0-3', '/b/x', '--model', '/m y.gguf', '--slots', '25%', '--fast', 'on'],
    env: { OMP_NUM_THREADS: '2' },
  });
});

test('a prefix may name a program beside the engine, whatever its value holds', () => {
  const prefix = ['{folder}/slow', '{value}', '--'];
  const slow = { type: 'string', prefix, effect: 'exact', summary: 's' } as const;
  const own = { ...descriptor, knobs: { ...descriptor.knobs, slow } };
  expect(resolveCommand(own, { slow: '20:{folder}' }, values).argv.slice(0, 4)).toEqual([
    '/b/slow',
    '20:{folder}',
    '--',
    '/b/x',
  ]);
  expect(() => resolveCommand(own, { slow: '1' }, { model: '/m' })).toThrow('{folder}');
});

test('a knob that is not set leaves no word', () => {
  expect(resolveCommand(descriptor, {}, values)).toEqual({ argv: ['/b/x', '--model', '/m y.gguf'], env: {} });
});

test('a placeholder without a value', () => {
  const resolve = () => resolveCommand(descriptor, {}, { model: '/m' });
  expect(resolve).toThrow(
    new UserError('the placeholder {binary} of the command has no value', {
      where: 'engines/x.yaml',
      hint: 'placeholders with a value here: {model}',
    }),
  );
});

test('two arms that are the same command are refused, whatever the order of their variables', () => {
  const a = { name: 'a', argv: ['x'], env: { A: '1', B: '2' } };
  const b = { name: 'b', argv: ['x'], env: { B: '2', A: '1' } };
  expect(() => refuseEqualArms([a, b], () => 'p.yaml:3:1')).toThrow(
    new UserError('arms.b: resolves to the same command line and environment as a', {
      where: 'p.yaml:3:1',
      hint: 'change a knob of one of them, or remove one',
    }),
  );
  refuseEqualArms([a, { ...b, env: { A: '1' } }, { ...b, argv: ['x', '--y'] }], () => '');
});
