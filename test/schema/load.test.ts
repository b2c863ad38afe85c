// Files against each other: a protocol's engine, knobs and prompts, with every problem told at once.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { UserError } from '../../src/core/errors.ts';
import {
  type CompleteProtocol,
  completeProtocol,
  loadDescriptor,
  loadProtocol,
} from '../../src/schema/load.ts';
import { parseProtocol } from '../../src/schema/protocol.ts';
import { DESCRIPTOR, PROMPTS, PROTOCOL } from './samples.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rota-schema-'));
  mkdirSync(path.join(folder, 'engines'));
  writeFileSync(path.join(folder, 'engines', 'strata.yaml'), DESCRIPTOR);
  writeFileSync(path.join(folder, 'prose.yaml'), PROMPTS);
});

afterEach(() => rmSync(folder, { recursive: true }));

const engines = (): string => path.join(folder, 'engines');

function load(protocol: string): CompleteProtocol {
  writeFileSync(path.join(folder, 'p.yaml'), protocol);
  return loadProtocol(path.join(folder, 'p.yaml'), engines());
}

function complaint(step: () => unknown): string {
  try {
    step();
  } catch (error) {
    expect(error).toBeInstanceOf(UserError);
    return (error as UserError).message.replaceAll(folder, '.');
  }
  throw new Error('nothing was wrong');
}

test('a complete protocol: arms with the common knobs under their own, prompts by class', () => {
  const complete = load(PROTOCOL.replace('wide: {threads: 2}', 'wide: {threads: 2, slots: 50%, pin: on}'));
  expect(complete.arms).toEqual({ base: { slots: '25%' }, wide: { slots: '50%', threads: 2, pin: true } });
  expect(complete.prompts['prose']?.prompts).toHaveLength(4);
  expect(complete.folder).toBe(folder);
  expect(complete.descriptor.name).toBe('strata');
});

test('a misspelt knob: file, line, column and the right name', () => {
  const protocol = PROTOCOL.replace('wide: {threads: 2}', 'wide:\n    thraeds: 2');
  expect(complaint(() => load(protocol))).toMatchInlineSnapshot(
    `"./p.yaml:9:5: arms.wide.thraeds: the engine has no such knob; did you mean "threads"?"`,
  );
});

test('every problem of the protocol, its knobs and its prompts at once', () => {
  const protocol = PROTOCOL.replace('slots: 25%', 'slot: 25%')
    .replace('threads: 2', 'threads: 99')
    .replace('baseline: base', 'baseline: bas')
    .replace('perBlock: 2', 'perBlock: 3');
  expect(complaint(() => load(protocol))).toMatchInlineSnapshot(`
    "./p.yaml:4:11: baseline: no arm is named "bas"; did you mean "base"?
    ./p.yaml:5:10: common.slot: the engine has no such knob; did you mean "slots"?
    ./p.yaml:8:19: arms.wide.threads: must be between 1 and 64, got 99
    ./p.yaml:15:15: workloads.0.perBlock: 2 blocks of 3 need 6 prompts, prose.yaml has 4; every block needs new prompts: add some, or lower perBlock or blocks"
  `);
});

test('an unknown engine, a missing prompt file, too few arms, a class twice, abba with three arms', () => {
  expect(complaint(() => load(PROTOCOL.replace('engine: strata', 'engine: strat')))).toMatchInlineSnapshot(
    `"./p.yaml:2:9: there is no engine "strat"; did you mean "strata"?"`,
  );
  expect(complaint(() => load(PROTOCOL.replace('prose.yaml', 'pros.yaml')))).toMatchInlineSnapshot(
    `"./p.yaml:14:14: ./pros.yaml: there is no such file"`,
  );
  expect(complaint(() => load(PROTOCOL.replace('  wide: {threads: 2}\n', '')))).toMatchInlineSnapshot(
    `"./p.yaml:7:3: arms: needs at least 2 arms to compare, got 1"`,
  );
  const again = '  - {class: prose, prompts: prose.yaml, perBlock: 2, maxNew: 32}\n';
  expect(complaint(() => load(PROTOCOL + again))).toMatchInlineSnapshot(
    `"./p.yaml:17:13: workloads.1.class: the class "prose" is given twice"`,
  );
  const abba = PROTOCOL.replace('seed: 3', 'order: abba').replace(
    '  base:\n',
    '  base:\n  other: {threads: 3}\n',
  );
  expect(complaint(() => load(abba))).toMatchInlineSnapshot(
    `"./p.yaml:11:8: order: abba is for 2 arms, there are 3; use balanced"`,
  );
});

test('a broken prompt file is told in its own file and line, together with the rest', () => {
  writeFileSync(path.join(folder, 'prose.yaml'), PROMPTS.replace('- text: two', '- txt: two'));
  expect(complaint(() => load(PROTOCOL.replace('threads: 2', 'threads: 0')))).toMatchInlineSnapshot(`
    "./p.yaml:8:19: arms.wide.threads: must be between 1 and 64, got 0
    ./prose.yaml:3:5: prompts.1.txt: unknown key; did you mean "text"?
    ./prose.yaml:3:5: prompts.1.text: a prompt has a text, or from and words (and at), and not both"
  `);
});

test('too few warm-up prompts', () => {
  const protocol = PROTOCOL.replace('floorPromptsPerClass: 1', 'floorPromptsPerClass: 2');
  expect(complaint(() => load(protocol))).toMatchInlineSnapshot(
    `"./p.yaml:14:14: workloads.0.prompts: the warm-up needs 2 prompts of each class, prose.yaml has 1"`,
  );
});

test('a protocol made from text in memory is checked the same way', () => {
  const parsed = parseProtocol(PROTOCOL.replace('threads: 2', 'thread: 2'), 'command line');
  expect(complaint(() => completeProtocol(parsed, folder, engines()))).toMatchInlineSnapshot(
    `"command line:8:10: arms.wide.thread: the engine has no such knob; did you mean "threads"?"`,
  );
});

test('no such file, a folder, and a descriptor whose name is not its file’s', () => {
  expect(complaint(() => loadProtocol(path.join(folder, 'none.yaml'), engines()))).toMatchInlineSnapshot(
    `"./none.yaml: there is no such file"`,
  );
  expect(complaint(() => loadProtocol(folder, engines()))).toMatchInlineSnapshot(`".: is a folder"`);
  expect(complaint(() => loadDescriptor(engines(), 'vllm'))).toMatchInlineSnapshot(
    `"there is no engine "vllm"; valid: strata"`,
  );
  writeFileSync(path.join(folder, 'engines', 'other.yaml'), DESCRIPTOR);
  expect(complaint(() => loadDescriptor(engines(), 'other'))).toMatchInlineSnapshot(
    `"./engines/other.yaml:2:7: name: must be "other", as the file is"`,
  );
});
