// Names of the engine's family for its knobs: accepted where a knob's name is, read as the family means them.

import { expect, test } from 'vitest';
import { knobArguments } from '../../src/cli/arguments.ts';
import { flagKnobs } from '../../src/cli/flag-knobs.ts';
import { parseDescriptor } from '../../src/schema/descriptor.ts';
import { validateKnobs } from '../../src/schema/knobs.ts';
import { DESCRIPTOR } from './samples.ts';

const WITH_ALIASES = `${DESCRIPTOR}
  share: {type: number, flag: --share, min: 0, max: 1, effect: exact, summary: s, aliases: [STRATA_SHARE, SHARE]}
  huge-pages:
    type: bool
    flag: --huge-pages
    effect: exact
    summary: s
    aliases: [{name: STRATA_NO_LARGEPAGES, values: {'1': off, '0': on}}, STRATA_LARGEPAGES]
  counts: {type: path, flag: --counts, effect: exact, summary: s, aliases: [{name: KEEP, pattern: '^(.+):\\d+$', form: 'FILE:K'}]}
  keep: {type: int, flag: --keep, min: 1, max: 128, effect: exact, summary: s, aliases: [{name: KEEP, pattern: '^.+:(\\d+)$', form: 'FILE:K'}]}
`;
const { descriptor } = parseDescriptor(WITH_ALIASES, 'x.yaml');
const check = (knobs: Record<string, unknown>): unknown => {
  const checked = validateKnobs(descriptor.knobs, knobs, (name, part) => `p:1(${part} of ${name})`, 'arms.a');
  if (checked.problems.length === 0) return checked.knobs;
  return checked.problems.map(({ where, path, message, hint }) =>
    [where, path, message].join(': ').concat(hint === undefined ? '' : `; ${hint}`),
  );
};

test('a value under an alias is the value of the knob, as text of the environment or as YAML has it', () => {
  expect(check({ STRATA_SHARE: 0.5 })).toEqual({ share: 0.5 });
  expect(check({ SHARE: '0.25' })).toEqual({ share: 0.25 });
  expect(check({ STRATA_LARGEPAGES: 1 })).toEqual({ 'huge-pages': true });
  expect(check({ STRATA_LARGEPAGES: '0' })).toEqual({ 'huge-pages': false });
  expect(check({ STRATA_LARGEPAGES: 'on' })).toEqual({ 'huge-pages': true });
});

test('an alias may count otherwise, or set two knobs at once', () => {
  expect(check({ STRATA_NO_LARGEPAGES: 1 })).toEqual({ 'huge-pages': false });
  expect(check({ STRATA_NO_LARGEPAGES: '0' })).toEqual({ 'huge-pages': true });
  expect(check({ KEEP: '/a:b/counts.txt:96' })).toEqual({ counts: '/a:b/counts.txt', keep: 96 });
});

test('what is wrong under an alias is told where it was written', () => {
  expect(
    check({ STRATA_SHARE: 2, strata_share: 1, STRATA_NO_LARGEPAGES: 'yes', KEEP: 'counts.txt' }),
  ).toMatchInlineSnapshot(`
    [
      "p:1(value of STRATA_SHARE): arms.a.STRATA_SHARE: must be between 0 and 1, got 2",
      "p:1(key of strata_share): arms.a.strata_share: the engine has no such knob; did you mean "STRATA_SHARE"?",
      "p:1(value of STRATA_NO_LARGEPAGES): arms.a.STRATA_NO_LARGEPAGES: unknown value "yes"; valid: 0, 1",
      "p:1(value of KEEP): arms.a.KEEP: "counts.txt" is not of the form FILE:K",
    ]
  `);
  expect(check({ KEEP: 'c:999' })).toMatchInlineSnapshot(`
    [
      "p:1(value of KEEP): arms.a.KEEP: must be between 1 and 128, got 999",
    ]
  `);
  expect(check({ STRATA_SHARE: [1] })).toMatchInlineSnapshot(`
    [
      "p:1(value of STRATA_SHARE): arms.a.STRATA_SHARE: expected a number, got a list",
    ]
  `);
});

test('a knob and its alias in one arm are an error, whichever comes first', () => {
  expect(check({ share: 0.5, STRATA_SHARE: 0.5 })).toMatchInlineSnapshot(`
    [
      "p:1(key of STRATA_SHARE): arms.a.STRATA_SHARE: share has already set the knob share; keep one of them",
    ]
  `);
  expect(check({ STRATA_SHARE: 0.5, share: 0.5 })).toMatchInlineSnapshot(`
    [
      "p:1(key of share): arms.a.share: STRATA_SHARE has already set the knob share; keep one of them",
    ]
  `);
  expect(check({ SHARE: 0.5, STRATA_SHARE: 1 })).toMatchInlineSnapshot(`
    [
      "p:1(key of STRATA_SHARE): arms.a.STRATA_SHARE: SHARE has already set the knob share; keep one of them",
    ]
  `);
  expect(check({ keep: 5, KEEP: 'c:9' })).toMatchInlineSnapshot(`
    [
      "p:1(key of KEEP): arms.a.KEEP: keep has already set the knob keep; keep one of them",
    ]
  `);
});

test('the command line takes aliases too, and the same name once only', () => {
  expect(knobArguments(descriptor, ['STRATA_SHARE=0.5', 'threads=2'])).toEqual({ share: 0.5, threads: 2 });
  expect(() => knobArguments(descriptor, ['SHARE=1', 'share=1'])).toThrow(
    'SHARE has already set the knob share',
  );
  expect(() => knobArguments(descriptor, ['share=1', 'share=0'])).toThrow('share is given twice');
  expect(flagKnobs(descriptor, '--threads 3 STRATA_NO_LARGEPAGES=1 KEEP="a b:7"', '-a')).toEqual({
    threads: 3,
    'huge-pages': false,
    counts: 'a b',
    keep: 7,
  });
  expect(() => flagKnobs(descriptor, 'STRATA_SHARE=1 --share 1', '-a')).toThrow(
    'STRATA_SHARE has already set the knob share',
  );
  expect(() => flagKnobs(descriptor, 'STRATA_SHARE', '-a')).toThrow('STRATA_SHARE needs a value');
  expect(() => flagKnobs(descriptor, 'STRATA_SHAR=1', '-a')).toThrow('strata has no flag "STRATA_SHAR"');
});

test('aliases that cannot be told apart, or that say nothing, are errors of the descriptor', () => {
  const knob = (name: string, more: string): string =>
    `  ${name}: {type: int, flag: --${name}, effect: exact, summary: s, ${more}}\n`;
  const bad = `${DESCRIPTOR}
${knob('a', 'aliases: [SAME, ROTA_KERNEL, slots, SAME]')}
${knob('b', "aliases: [SAME, 'no name']")}
${knob('c', "aliases: [{name: HALF, pattern: '(a):(b)'}, {name: BAD, pattern: '('}]")}
${knob('d', "aliases: [{name: NONE, pattern: 'x', values: {'1': word}}]")}
${knob('e', 'provenBy: /abs/knobs.test.ts')}
${knob('f', 'provenBy: test/native/knobs.ts')}`;
  expect(() => parseDescriptor(bad, 'x.yaml')).toThrowErrorMatchingInlineSnapshot(`
    [ProblemsError: x.yaml:23:72: knobs.b.aliases.1: not a name of an environment variable
    x.yaml:25:88: knobs.c.aliases.0.pattern: not a regular expression with one group, which is the value
    x.yaml:25:121: knobs.c.aliases.1.pattern: not a regular expression with one group, which is the value
    x.yaml:27:66: knobs.d.aliases.0: has values or a pattern, not both
    x.yaml:27:88: knobs.d.aliases.0.pattern: not a regular expression with one group, which is the value
    x.yaml:27:107: knobs.d.aliases.0.values.1: expected a whole number, got "word"
    x.yaml:29:66: knobs.e.provenBy: not the path of a test file in the repository
    x.yaml:31:66: knobs.f.provenBy: not the path of a test file in the repository]
  `);
  const clash = `${DESCRIPTOR}
${knob('a', 'aliases: [SAME, ROTA_KERNEL, slots, SAME]')}
${knob('b', 'aliases: [SAME], provenBy: test/native/knobs.test.ts')}`;
  expect(() => parseDescriptor(clash, 'x.yaml')).toThrowErrorMatchingInlineSnapshot(`
    [ProblemsError: x.yaml:21:72: knobs.a.aliases.1: ROTA_KERNEL already belongs to the knob kernel
    x.yaml:21:85: knobs.a.aliases.2: slots is the name of a knob
    x.yaml:21:92: knobs.a.aliases.3: SAME is given twice
    x.yaml:23:66: knobs.b.aliases.0: SAME already is an alias of the knob a]
  `);
});
