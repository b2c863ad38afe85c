// Knob values: what is valid, what it becomes on a command line, and what a wrong one is told.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDescriptor } from '../../src/schema/descriptor.ts';
import {
  differingKnobs,
  effectiveKnobs,
  type KnobSpec,
  type KnobValue,
  renderKnob,
  validateKnobs,
  valueProblem,
} from '../../src/schema/knobs.ts';
import { DESCRIPTOR } from './samples.ts';

const { knobs } = parseDescriptor(DESCRIPTOR, 'x.yaml').descriptor;
const spec = (name: string): KnobSpec => {
  const found = knobs[name];
  if (found === undefined) throw new Error(name);
  return found;
};
const problem = (name: string, value: unknown): string | undefined => {
  const found = valueProblem(spec(name), value);
  return found === undefined ? undefined : [found.message, found.hint].filter(Boolean).join('; ');
};

test('sizes have a unit or are 0', () => {
  for (const good of [0, '0', '25%', '100%', '14MiB', '1.5GiB', '512KiB', '2TiB', '4288x'])
    expect(problem('slots', good)).toBeUndefined();
  expect(problem('slots', 25)).toMatchInlineSnapshot(
    `"25 has no unit; write a share or a size with its unit: 25% or 25MiB"`,
  );
  expect(problem('slots', '25 MB')).toMatchInlineSnapshot(
    `"expected a size, got "25 MB"; such as 25%, 512MiB, 1.5GiB or 0"`,
  );
  expect(problem('slots', '101%')).toMatchInlineSnapshot(`"must be at most 100%, got 101%"`);
  for (const bad of ['', '-1MiB', '1e3MiB', 'MiB', true, null, [], '١MiB', '1.5x', 'auto'])
    expect(problem('slots', bad)).toBeDefined();
});

test('a number and a size may take words besides, and name them', () => {
  const share: KnobSpec = { ...spec('threads'), type: 'number', max: 1, min: 0, values: ['auto'] };
  const sized: KnobSpec = { ...spec('slots'), values: ['auto'] };
  for (const each of [share, sized]) {
    expect(valueProblem(each, 'auto')).toBeUndefined();
    expect(valueProblem(each, 'automatic')?.message).toBeDefined();
    expect(renderKnob(each, 'auto').argv.at(-1)).toBe('auto');
  }
  expect(valueProblem(share, 'half')?.message).toBe('expected a number or auto, got "half"');
  expect(valueProblem(share, 2)?.message).toBe('must be between 0 and 1, got 2');
  expect(valueProblem(sized, 'all')?.hint).toBe('such as 25%, 512MiB, 1.5GiB or 0 or auto');
});

test('numbers, words, switches and paths', () => {
  expect(problem('threads', 4)).toBeUndefined();
  expect(problem('threads', 0)).toMatchInlineSnapshot(`"must be between 1 and 64, got 0"`);
  expect(problem('threads', '4')).toMatchInlineSnapshot(
    `"expected a whole number, got "4"; write it without quotes"`,
  );
  expect(problem('threads', 2.5)).toMatchInlineSnapshot(`"expected a whole number, got 2.5"`);
  expect(problem('threads', Number.NaN)).toBeDefined();
  expect(problem('kernel', 'avx')).toMatchInlineSnapshot(`"unknown value "avx"; did you mean "avx2"?"`);
  expect(problem('kv-quant', 'on')).toBeUndefined();
  expect(problem('kv-quant', 'yes')).toMatchInlineSnapshot(`"expected on or off, got "yes""`);
  const path: KnobSpec = { type: 'path', flag: '--rank', effect: 'exact', summary: '' };
  expect(valueProblem(path, 'a b.txt')).toBeUndefined();
  for (const bad of ['', 'a\0b', 3, null]) expect(valueProblem(path, bad)).toBeDefined();
  expect(valueProblem({ ...path, type: 'string' }, 3)).toBeUndefined();
  expect(
    valueProblem({ type: 'number', flag: '--x', min: 0, effect: 'exact', summary: '' }, -0.1)?.message,
  ).toBe('must be at least 0, got -0.1');
});

test('a value goes where the knob says: flag, switch, environment, in front of the command', () => {
  const render = (name: string, value: KnobValue): unknown => renderKnob(spec(name), value);
  expect(render('slots', '25%')).toEqual({ prefix: [], argv: ['--slots', '25%'], env: {} });
  expect(render('kv-quant', false)).toEqual({ prefix: [], argv: ['--kv-quant', 'off'], env: {} });
  expect(render('pin', true)).toEqual({ prefix: [], argv: ['--pin'], env: {} });
  expect(render('pin', false)).toEqual({ prefix: [], argv: [], env: {} });
  expect(render('kernel', 'avx2')).toEqual({ prefix: [], argv: [], env: { ROTA_KERNEL: 'avx2' } });
  expect(render('bind', 1)).toEqual({ prefix: ['numactl', '--membind', '1'], argv: [], env: {} });
  const group: KnobSpec = {
    type: 'string',
    prefix: ['systemd-run', '-p{value}'],
    effect: 'exact',
    summary: '',
  };
  expect(renderKnob(group, "A=$&$'").prefix).toEqual(['systemd-run', "-pA=$&$'"]);
  const hugePages: KnobSpec = { type: 'bool', prefix: ['hugectl'], effect: 'exact', summary: '' };
  expect(renderKnob(hugePages, true).prefix).toEqual(['hugectl']);
  expect(renderKnob(hugePages, false).prefix).toEqual([]);
  expect(renderKnob({ type: 'bool', env: 'X', effect: 'exact', summary: '' }, true).env).toEqual({ X: '1' });
});

test('unknown knobs are told with their place and the nearest right name', () => {
  const where = (name: string, part: string): string => `p.yaml:9:1(${part} of ${name})`;
  const checked = validateKnobs(knobs, { thread: 2, slots: 25, pin: 'on', toString: 1 }, where, 'arms.wide');
  expect(checked.problems).toMatchInlineSnapshot(`
    [
      {
        "hint": "did you mean "threads"?",
        "message": "the engine has no such knob",
        "path": "arms.wide.thread",
        "where": "p.yaml:9:1(key of thread)",
      },
      {
        "hint": "write a share or a size with its unit: 25% or 25MiB",
        "message": "25 has no unit",
        "path": "arms.wide.slots",
        "where": "p.yaml:9:1(value of slots)",
      },
      {
        "hint": "valid: slots, threads, kv-quant, kernel, pin, bind",
        "message": "the engine has no such knob",
        "path": "arms.wide.toString",
        "where": "p.yaml:9:1(key of toString)",
      },
    ]
  `);
  expect(checked.knobs).toEqual({ pin: true });
});

test('every valid value keeps its meaning when normalised and rendered', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), fc.boolean(), (threads, quant) => {
      const checked = validateKnobs(knobs, { threads, 'kv-quant': quant ? 'on' : 'off' }, () => '');
      expect(checked.problems).toEqual([]);
      expect(checked.knobs).toEqual({ threads, 'kv-quant': quant });
    }),
  );
});

test('settings are compared as they take effect: a default that is spelt out is no difference', () => {
  expect(effectiveKnobs(knobs, { threads: 4 })).toEqual({ threads: 4, 'kv-quant': true });
  expect(differingKnobs(knobs, { 'kv-quant': true }, {}, 'lossy')).toEqual([]);
  expect(differingKnobs(knobs, { 'kv-quant': false, threads: 1 }, {}, 'lossy')).toEqual(['kv-quant']);
  expect(differingKnobs(knobs, { threads: 1 }, { threads: 2 }, 'exact')).toEqual(['threads']);
});
