// What stands for an arm and for a reference on the command line.
import { expect, test } from 'vitest';
import { modelArgument } from '../../src/cli/arguments.ts';
import { armArgument, defaultReference, referenceArgument } from '../../src/cli/score-arms.ts';
import { loadDescriptor } from '../../src/schema/load.ts';

const strata = loadDescriptor(new URL('../../engines', import.meta.url).pathname, 'strata');

test('the bundled model is held against its weights as they were trained, any other against itself', () => {
  const found = ['mini', 'mini:teacher', 'synth:mini-s:1', 'x.gguf'].map((word) =>
    defaultReference(modelArgument(word)),
  );
  expect(found).toEqual(['mini:teacher', 'exact', 'exact', 'exact']);
});

test('an arm is its knobs by any of their names, over those of all; a value may hold commas', () => {
  const knobs = (word: string) => armArgument(strata, word, { ctx: 512, threads: 2 }, '--arm').knobs;
  expect(knobs('exact')).toEqual({ ctx: 512, threads: 2 });
  expect(knobs('bias=1.0,bias_file=0.6')).toEqual({
    ctx: 512,
    threads: 2,
    'route-bias': 1,
    'route-bias-file': 0.6,
  });
  expect(knobs('cpus=0-1,3,DS4_THREADS=1,slots=25%')).toEqual({
    ctx: 512,
    cpus: '0-1,3',
    threads: 1,
    slots: '25%',
  });
});

test('a reference is a model unless it is written as an arm', () => {
  const of = (word: string) => referenceArgument(strata, word, {}, '/nowhere');
  expect(of('exact')).toEqual({ arm: { name: 'exact', knobs: {} } });
  expect(of('bias=1')).toEqual({ arm: { name: 'bias=1', knobs: { 'route-bias': 1 } } });
  expect(of('mini:teacher')).toEqual({ model: { bundled: 'mini', form: 'teacher' } });
  expect(of('synth:mini-s:1')).toEqual({ model: { synth: { config: 'mini-s', seed: 1 } } });
  expect(of('weights/teacher.gguf')).toEqual({ model: { path: 'weights/teacher.gguf' } });
});
