// What a user reads when a descriptor, a protocol or a prompt file is wrong: place, path, reason, nearest right word.

import { expect, test } from 'vitest';
import { UserError } from '../../src/core/errors.ts';
import { parseDescriptor } from '../../src/schema/descriptor.ts';
import { throwProblems } from '../../src/schema/problems.ts';
import { parsePrompts } from '../../src/schema/prompts.ts';
import { parseProtocol, protocolContradictions } from '../../src/schema/protocol.ts';
import { DESCRIPTOR, PROTOCOL } from './samples.ts';

/** The message of the UserError that a step throws. */
function complaint(step: () => unknown): string {
  try {
    step();
  } catch (error) {
    expect(error).toBeInstanceOf(UserError);
    expect((error as UserError).exitCode).toBe(2);
    return (error as UserError).message;
  }
  throw new Error('nothing was wrong');
}

/** A sample with one text replaced. */
function changed(sample: string, from: string, to: string): string {
  expect(sample).toContain(from);
  return sample.replace(from, to);
}

const descriptor = (from: string, to: string): string =>
  complaint(() => parseDescriptor(changed(DESCRIPTOR, from, to), 'engines/strata.yaml'));
const protocol = (from: string, to: string): string =>
  complaint(() => parseProtocol(changed(PROTOCOL, from, to), 'p.yaml'));

test('a good descriptor, with its defaults', () => {
  const parsed = parseDescriptor(DESCRIPTOR, 'engines/strata.yaml').descriptor;
  expect(parsed).toMatchObject({
    name: 'strata',
    ready: { timeoutS: 600 },
    stop: { graceS: 3 },
    bundled: true,
  });
  expect(Object.keys(parsed.knobs)).toEqual(['slots', 'threads', 'kv-quant', 'kernel', 'pin', 'bind']);
});

test('descriptor: unknown keys, words and placeholders', () => {
  expect(descriptor('tokenIds:', 'tokenIDs:')).toMatchInlineSnapshot(`
    "engines/strata.yaml:2:1: tokenIds: missing: expected true or false
    engines/strata.yaml:11:1: tokenIDs: unknown key; did you mean "tokenIds"?"
  `);
  expect(descriptor('transport: stdio', 'transport: http')).toMatchInlineSnapshot(
    `"engines/strata.yaml:8:12: transport: unknown value "http"; valid: stdio"`,
  );
  expect(descriptor('{model}', '{modle}')).toMatchInlineSnapshot(`
    "engines/strata.yaml:7:10: command: no word holds {model}, so the engine would not know what to serve
    engines/strata.yaml:7:32: command.2: the placeholder {modle} has no value; did you mean "model"?"
  `);
  expect(descriptor('binary: bin/rota-strata\n', '')).toMatchInlineSnapshot(
    `"engines/strata.yaml:6:11: command.0: the placeholder {binary} has no value: the descriptor names no binary"`,
  );
  expect(descriptor('file: disjoint', 'file: disjunct')).toMatchInlineSnapshot(
    `"engines/strata.yaml:12:18: counting.file: unknown value "disjunct"; valid: disjoint, subset"`,
  );
});

test('descriptor: knobs that contradict themselves or each other', () => {
  expect(descriptor('flag: --slots', 'flag: --slots, env: SLOTS')).toMatchInlineSnapshot(
    `"engines/strata.yaml:14:10: knobs.slots: needs exactly one of flag, switch, env and prefix, got flag and env"`,
  );
  expect(descriptor('flag: --slots, ', '')).toMatchInlineSnapshot(
    `"engines/strata.yaml:14:10: knobs.slots: needs exactly one of flag, switch, env and prefix, got none"`,
  );
  expect(descriptor('flag: --slots', 'flag: --threads')).toMatchInlineSnapshot(
    `"engines/strata.yaml:15:12: knobs.threads: --threads already belongs to the knob slots"`,
  );
  expect(descriptor('min: 1', 'min: 99')).toMatchInlineSnapshot(`
    "engines/strata.yaml:15:55: knobs.threads.max: below min 99
    engines/strata.yaml:15:68: knobs.threads.default: must be between 99 and 64, got 2"
  `);
  expect(descriptor('values: [avx2, portable], ', '')).toMatchInlineSnapshot(
    `"engines/strata.yaml:17:11: knobs.kernel.values: an enum needs its values"`,
  );
  expect(descriptor('{type: size, ', '{type: path, values: [auto], ')).toMatchInlineSnapshot(
    `"engines/strata.yaml:14:31: knobs.slots.values: only an enum, a number or a size has values"`,
  );
  expect(descriptor('default: 2', 'default: two')).toMatchInlineSnapshot(
    `"engines/strata.yaml:15:67: knobs.threads.default: expected a whole number, got "two""`,
  );
  expect(descriptor('type: bool, switch', 'type: int, switch')).toMatchInlineSnapshot(
    `"engines/strata.yaml:18:28: knobs.pin.switch: only a bool can be a switch"`,
  );
  expect(descriptor('"{value}"', '"1"')).toMatchInlineSnapshot(
    `"engines/strata.yaml:19:29: knobs.bind.prefix: no word holds {value}, so the knob would do nothing"`,
  );
  expect(descriptor('  slots:', '  Slots:')).toMatchInlineSnapshot(
    `"engines/strata.yaml:14:3: knobs.Slots: a knob is named in lower case with dashes"`,
  );
});

test('a good protocol, with its defaults', () => {
  const { protocol: parsed } = parseProtocol(PROTOCOL, 'p.yaml');
  expect(parsed).toMatchObject({
    order: 'balanced',
    margin: 0.03,
    model: { synth: { config: 'mini-s', seed: 1 } },
    arms: { base: {}, wide: { threads: 2 } },
    sampling: { temperature: 0, topP: 1, seed: 1 },
    warmup: { windows: 5, floorTokens: 64 },
    telemetry: { periodMs: 500 },
    guards: { foreignCpuShare: 0.1 },
  });
  const other = parseProtocol(
    changed(PROTOCOL, 'model: {synth: {config: mini-s, seed: 1}}', 'model: m.gguf'),
    'p.yaml',
  );
  expect(other.protocol.model).toEqual({ path: 'm.gguf' });
});

test('protocol: each kind of mistake, with its place', () => {
  expect(protocol('baseline:', 'basline:')).toMatchInlineSnapshot(`
    "p.yaml:1:1: baseline: missing: expected text
    p.yaml:4:1: basline: unknown key; did you mean "baseline"?"
  `);
  expect(protocol('config: mini-s', 'confg: mini-s')).toMatchInlineSnapshot(`
    "p.yaml:3:16: model.synth.config: missing: expected text
    p.yaml:3:17: model.synth.confg: unknown key; did you mean "config"?"
  `);
  expect(protocol('seed: 1}}', 'seed: 1, layout: c}}')).toMatchInlineSnapshot(
    `"p.yaml:3:50: model.synth.layout: unknown value "c"; did you mean "a"?"`,
  );
  expect(protocol('model: {synth: {config: mini-s, seed: 1}}', 'model: 3')).toMatchInlineSnapshot(
    `"p.yaml:3:8: model: expected text or a map, got 3"`,
  );
  expect(protocol('blocks: 2', 'blocks: two')).toMatchInlineSnapshot(
    `"p.yaml:9:9: blocks: expected a number, got "two""`,
  );
  expect(protocol('blocks: 2', 'blocks: 0')).toMatchInlineSnapshot(
    `"p.yaml:9:9: blocks: must be at least 1, got 0"`,
  );
  expect(protocol('maxNew: 32', 'maxNew: 1')).toMatchInlineSnapshot(
    `"p.yaml:16:13: workloads.0.maxNew: must be at least 2, got 1"`,
  );
  expect(protocol('  wide:', '  2wide:')).toMatchInlineSnapshot(
    `"p.yaml:8:3: arms.2wide: an arm is named by a letter, then letters, digits, _, + and -"`,
  );
  expect(protocol('floorTokens: 64', 'florTokens: 64')).toMatchInlineSnapshot(
    `"p.yaml:11:10: warmup.florTokens: unknown key; did you mean "floorTokens"?"`,
  );
  expect(protocol('seed: 3', 'order: balancd')).toMatchInlineSnapshot(
    `"p.yaml:10:8: order: unknown value "balancd"; did you mean "balanced"?"`,
  );
  expect(protocol('  wide: {threads: 2}', '  wide: 2')).toMatchInlineSnapshot(
    `"p.yaml:8:9: arms.wide: expected a map, got 2"`,
  );
  expect(protocol('class: prose', 'class: Prose Text')).toMatchInlineSnapshot(
    `"p.yaml:13:12: workloads.0.class: a content class is named in lower case with dashes"`,
  );
});

test('all mistakes of a file are told at once, in the order of the file', () => {
  const text = changed(changed(PROTOCOL, 'blocks: 2', 'blocks: -1'), 'maxNew: 32', 'maxnew: 32');
  expect(complaint(() => parseProtocol(text, 'p.yaml'))).toMatchInlineSnapshot(`
    "p.yaml:9:9: blocks: must be at least 1, got -1
    p.yaml:13:5: workloads.0.maxNew: missing: expected a number
    p.yaml:16:5: workloads.0.maxnew: unknown key; did you mean "maxNew"?"
  `);
});

test('a key given twice, broken YAML, an empty file, a list, an alias bomb, a key named __proto__', () => {
  expect(protocol('blocks: 2', 'blocks: 2\nblocks: 3')).toMatchInlineSnapshot(
    `"p.yaml:10:1: the key "blocks" is given twice"`,
  );
  expect(protocol('blocks: 2', 'blocks: [2')).toContain('p.yaml:');
  expect(protocol('blocks: 2', 'blocks: !count 2')).toMatchInlineSnapshot(
    `"p.yaml:9:9: Unresolved tag: !count"`,
  );
  expect(complaint(() => parseProtocol('', 'p.yaml'))).toMatchInlineSnapshot(
    `"p.yaml:1:1: expected a map, got nothing"`,
  );
  expect(complaint(() => parseProtocol('- 1', 'p.yaml'))).toMatchInlineSnapshot(
    `"p.yaml:1:1: expected a map, got a list"`,
  );
  const bomb = `a: &a [1,1,1,1,1,1,1,1,1,1]\n${[...'bcdefg'].map((x, i) => `${x}: &${x} [${new Array(10).fill(`*${'abcdefg'[i]}`).join(',')}]`).join('\n')}`;
  expect(complaint(() => parseProtocol(bomb, 'p.yaml'))).toMatchInlineSnapshot(
    `"p.yaml:1:1: Excessive alias count indicates a resource exhaustion attack"`,
  );
  expect(protocol('  wide: {threads: 2}', '  __proto__: {threads: 2}')).toMatchInlineSnapshot(
    `"p.yaml:8:3: the name "__proto__" cannot be used"`,
  );
});

const noFiles = (from: string): string => {
  throw new Error(`${from} was not to be read`);
};

test('prompts are named by their place and must be new', () => {
  const text = 'prompts: [{text: a}, {id: own, text: b}]\nwarmup: [{text: c}]';
  const file = parsePrompts(text, 'prose.yaml', noFiles);
  expect(file.prompts.map((prompt) => prompt.id)).toEqual(['p01', 'own']);
  expect(file.warmup).toEqual([{ id: 'w01', text: 'c' }]);
  const bad = (yaml: string): string => complaint(() => parsePrompts(yaml, 'prose.yaml', noFiles));
  expect(bad('prompts: [{text: a}, {text: b}]\nwarmup: [{text: " a "}]')).toMatchInlineSnapshot(
    `"prose.yaml:2:17: warmup.0.text: the same text stands twice; a measured prompt must be new to the engine"`,
  );
  expect(bad('prompts: [{id: x, text: a}, {id: x, text: b}]\nwarmup: [{text: c}]')).toMatchInlineSnapshot(
    `"prose.yaml:1:34: prompts.1.id: the id "x" is given twice"`,
  );
  expect(bad('prompts: []\nwarmup: [{txt: c}]')).toMatchInlineSnapshot(`
    "prose.yaml:1:10: prompts: needs at least 1 entry
    prose.yaml:2:10: warmup.0.text: a prompt has a text, or from and words (and at), and not both
    prose.yaml:2:11: warmup.0.txt: unknown key; did you mean "text"?"
  `);
});

test('a prompt is as many words of a file as are asked for, round and round', () => {
  const read = (from: string): string => ({ 'a.txt': 'one  two\nthree\n' })[from] ?? ' ';
  const file = parsePrompts(
    'prompts: [{from: a.txt, words: 2}, {from: a.txt, at: 4, words: 5}]\nwarmup: [{text: c}]',
    'long.yaml',
    read,
  );
  expect(file.prompts).toEqual([
    { id: 'p01', text: 'one  two' },
    { id: 'p02', text: 'two\nthree\none  two\nthree' },
  ]);
  const bad = (prompt: string): string =>
    complaint(() =>
      parsePrompts(`prompts: [${prompt}]\nwarmup: [{from: a.txt, at: 1, words: 2}]`, 'long.yaml', read),
    );
  const both =
    'long.yaml:1:11: prompts.0.text: a prompt has a text, or from and words (and at), and not both';
  expect(bad('{text: x, words: 2}')).toContain('a text, or from and words (and at), and not both');
  expect(bad('{from: a.txt}')).toBe(both);
  expect(bad('{words: 3}')).toBe(both);
  expect(bad('{}')).toBe(both);
  expect(bad('{from: a.txt, at: 1, words: 3}')).toContain('the same text stands twice');
  expect(bad('{from: b.txt, words: 3}')).toBe('b.txt has no words');
});

/** What its shape says, and what no single field shows. */
const background = (text: string): string =>
  complaint(() => {
    const yaml = changed(PROTOCOL, '\nseed:', `\nbackground: ${text}\nseed:`);
    const { protocol: parsed, source } = parseProtocol(yaml, 'p.yaml');
    throwProblems(protocolContradictions(parsed, source));
  });

test('protocol: a background is either a command or an engine, beside blocks that there are', () => {
  expect(
    [
      '{}',
      '{command: [a], engine: strata}',
      '{command: [a], maxNew: 4}',
      '{command: [a], blocks: [1, 99, 1]}',
      '{command: []}',
      '{command: [a], blocks: quarter}',
      '{command: [a], name: My Load}',
    ].map(background),
  ).toMatchInlineSnapshot(`
    [
      "p.yaml:10:13: background: needs either command or engine, got none",
      "p.yaml:10:13: background: needs either command or engine, got both",
      "p.yaml:10:36: background.maxNew: belongs to an engine, not to a command",
      "p.yaml:10:40: background.blocks.1: there are 2 blocks, no block 99
    p.yaml:10:44: background.blocks.2: block 1 is given twice",
      "p.yaml:10:23: background.command: needs at least 1 entry",
      "p.yaml:10:36: background.blocks: unknown value "quarter"; valid: all, half",
      "p.yaml:10:34: background.name: a background is named in lower case with dashes",
    ]
  `);
});

test('descriptor: a preset by a knob needs the knob, a group and a place in the path', () => {
  const to = (by: string) => `build: {preset: host, targets: [rota-strata], presetBy: ${by}}`;
  const from = 'build: {preset: host, targets: [rota-strata]}';
  expect(descriptor(from, to("{knob: device, pattern: 'cuda'}"))).toMatchInlineSnapshot(`
    "engines/strata.yaml:5:64: build.presetBy.knob: "device" is no knob
    engines/strata.yaml:5:81: build.presetBy.pattern: not a regular expression with one group, which is the preset
    engines/strata.yaml:6:9: binary: holds no {preset}, so every preset would have the same program"
  `);
  expect(descriptor('binary: bin/', 'binary: bin/{presets}/')).toMatchInlineSnapshot(
    `"engines/strata.yaml:6:9: binary: the placeholder {presets} has no value; only {preset}, with build, has one here"`,
  );
});

test('protocol: what a synthetic model is made of', () => {
  const from = 'config: mini-s, seed: 1';
  expect(protocol(from, `${from}, layer: 3`)).toMatchInlineSnapshot(
    `"p.yaml:3:42: model.synth.layer: unknown key; did you mean "layers"?"`,
  );
  expect(
    protocol(from, `${from}, layers: 0, hotExperts: 2, values: big, checkMemory: off`),
  ).toMatchInlineSnapshot(`
    "p.yaml:3:50: model.synth.layers: must be at least 1, got 0
    p.yaml:3:65: model.synth.hotExperts: must be at most 1, got 2
    p.yaml:3:76: model.synth.values: unknown value "big"; valid: normal, grid, random
    p.yaml:3:94: model.synth.checkMemory: expected true or false, got "off""
  `);
});
