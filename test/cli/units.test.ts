import { CommanderError } from 'commander';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { modelArgument } from '../../src/cli/arguments.ts';
import { columns } from '../../src/cli/columns.ts';
import { harmless } from '../../src/cli/commands/ask.ts';
import { createContext } from '../../src/cli/context.ts';
import { describeFailure } from '../../src/cli/errors.ts';
import { flagKnobs, splitWords } from '../../src/cli/flag-knobs.ts';
import { EngineError, InvalidRecordError, UserError } from '../../src/core/errors.ts';
import type { EngineDescriptor } from '../../src/schema/descriptor.ts';
import { ProblemsError } from '../../src/schema/problems.ts';

const FACTS = {
  versions: 'rota 0.0.0, node v20',
  runFolder: '/results/x',
  resumable: null,
  help: 'rota run --help',
};

describe('failures', () => {
  const shown = (error: unknown): string => {
    const { exitCode, text } = describeFailure(error, FACTS);
    return `${exitCode}: ${text}`;
  };
  it('a user’s mistake', () => {
    expect([
      shown(new UserError('no such model', { where: 'x.gguf', hint: 'name one' })),
      shown(new UserError('no such model')),
      shown(
        new ProblemsError([
          { where: 'a.yaml:1:2', path: 'arms.x', message: 'wrong', hint: 'right' },
          { where: '', path: '', message: 'no engine' },
        ]),
      ),
      shown(
        new CommanderError(1, 'commander.unknownOption', "error: unknown option '--x'\n(Did you mean --y?)"),
      ),
      shown(
        new CommanderError(1, 'commander.missingArgument', "error: missing required argument 'protocol'"),
      ),
      shown(new CommanderError(0, 'commander.helpDisplayed', '(outputHelp)')),
    ]).toMatchInlineSnapshot(`
      [
        "2: x.gguf: no such model; name one",
        "2: rota: no such model",
        "2: a.yaml:1:2: arms.x: wrong; right
      rota: no engine",
        "2: rota: unknown option '--x'; did you mean --y?",
        "2: rota: missing required argument 'protocol'; see rota run --help",
        "0: ",
      ]
    `);
  });
  it('an engine’s failure: one line when the engine says why, its last words when it does not', () => {
    const logTail = ['loading', 'x.gguf: byte 8: truncated'];
    expect([
      shown(new EngineError('the engine ended', { phase: 'get ready', exit: 3, logTail })),
      shown(new EngineError('the engine ended', { phase: 'get ready', exit: 'SIGSEGV', logTail })),
      shown(new EngineError('not ready within 5 s', { phase: 'get ready' })),
    ]).toMatchInlineSnapshot(`
      [
        "3: rota: the engine ended: x.gguf: byte 8: truncated",
        "3: rota: the engine ended; its last words:
        | loading
        | x.gguf: byte 8: truncated",
        "3: rota: not ready within 5 s",
      ]
    `);
  });
  it('a record that was altered', () => {
    expect(shown(new InvalidRecordError('line 3 was altered'))).toBe('5: rota: line 3 was altered');
  });
  it('anything else is a bug, with stack, versions and run folder', () => {
    const lines = shown(new TypeError('x is not a function')).split('\n');
    expect(lines[0]).toBe('70: rota: this is a bug in Rota; please report it with these lines');
    expect(lines[1]).toBe('TypeError: x is not a function');
    expect(lines[2]).toMatch(/^ {4}at /);
    expect(lines.slice(-2)).toEqual(['rota 0.0.0, node v20', 'run folder: /results/x']);
    expect(shown('thrown text')).toContain('thrown text');
  });
});

describe('flags back into knobs', () => {
  const descriptor: EngineDescriptor = {
    name: 'e',
    summary: '',
    bundled: false,
    command: ['e', '{model}'],
    transport: 'stdio',
    dialect: 'rota',
    ready: { timeoutS: 1 },
    stop: { graceS: 1 },
    tokenIds: true,
    counting: { file: 'disjoint', unit: 'lookup' },
    knobs: {
      threads: { type: 'int', flag: '--threads', min: 1, effect: 'exact', summary: 'how many' },
      slots: { type: 'size', flag: '--slots', effect: 'exact', summary: '' },
      quiet: { type: 'bool', switch: '--quiet', effect: 'exact', summary: '' },
      'kv-quant': { type: 'bool', flag: '--kv-quant', effect: 'rounding', summary: '' },
      tune: { type: 'string', env: 'E_TUNE', effect: 'unknown', summary: '' },
      cores: { type: 'string', prefix: ['taskset', '-c', '{value}'], effect: 'exact', summary: '' },
    },
  };
  const parse = (text: string) => flagKnobs(descriptor, text, '-b');
  const refused = (text: string): string => {
    try {
      return JSON.stringify(parse(text));
    } catch (error) {
      return describeFailure(error, FACTS).text;
    }
  };
  it('flags, switches, variables and prefixes', () => {
    expect(parse('')).toEqual({});
    expect(parse('--threads 2 --slots=25% --quiet --kv-quant off E_TUNE="a b" --cores 0-3')).toEqual({
      threads: 2,
      slots: '25%',
      quiet: true,
      'kv-quant': false,
      tune: 'a b',
      cores: '0-3',
    });
  });
  it('says what is wrong with them', () => {
    expect(
      [
        '--thread 2',
        '--threads',
        '--threads 0',
        '--threads x',
        '--quiet=1',
        '--threads 1 --threads 2',
        'stray',
        '--slots "25%',
        '--slots 5',
      ].map(refused),
    ).toMatchInlineSnapshot(`
      [
        "rota: -b: e has no flag "--thread"; did you mean "--threads"?",
        "rota: -b: --threads needs a value; how many",
        "rota: -b: threads: must be at least 1, got 0",
        "rota: -b: threads: expected a whole number, got "x"",
        "rota: -b: --quiet takes no value",
        "rota: -b: --threads is given twice",
        "rota: -b: e has no flag "stray"; valid: --threads, --slots, --quiet, --kv-quant, E_TUNE, --cores",
        "rota: -b: a " is not closed",
        "rota: -b: slots: expected a size, got "5"; such as 25%, 512MiB, 1.5GiB or 0",
      ]
    `);
  });
  it('splits words as a shell does', () => {
    expect(splitWords(` a  'b c' "d 'e'" f\\ g '' h"i"`, '-a')).toEqual([
      'a',
      'b c',
      "d 'e'",
      'f g',
      '',
      'hi',
    ]);
    const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
    fc.assert(
      fc.property(fc.array(fc.string()), (words) => {
        expect(splitWords(words.map(quoted).join(' '), '-a')).toEqual(words);
      }),
    );
  });
});

describe('models on the command line', () => {
  it('a path or a synthetic one', () => {
    expect(modelArgument('a/b.gguf')).toEqual({ path: 'a/b.gguf' });
    expect(modelArgument('mini')).toEqual({ bundled: 'mini' });
    expect(modelArgument('mini:teacher')).toEqual({ bundled: 'mini', form: 'teacher' });
    expect(modelArgument('./mini')).toEqual({ path: './mini' });
    expect(modelArgument('synth:mini-s')).toEqual({ synth: { config: 'mini-s', seed: 1 } });
    expect(modelArgument('synth:mini-s:7:mixed')).toEqual({
      synth: { config: 'mini-s', seed: 7, expertFormat: 'mixed' },
    });
    for (const bad of ['synth:', 'synth:mini-s:x', 'synth:a:1:b:c'])
      expect(() => modelArgument(bad)).toThrow(UserError);
  });
});

it('columns are aligned and the last one is free', () => {
  expect(
    columns([
      ['a', 'bb', 'c'],
      ['aaa', '', 'long text'],
    ]),
  ).toBe('a    bb  c\naaa      long text\n');
  expect(columns([])).toBe('');
});

it('what a model says cannot steer a terminal', () => {
  expect(harmless('a\u001b[2Jb\r\nc\td\u0007é你\u009b1m')).toBe('a\ufffd[2Jb\ufffd\nc\td\ufffdé你\ufffd1m');
});

describe('the terminal', () => {
  const stream = (isTTY: boolean, width: number | undefined) =>
    Object.assign(Object.create(process.stdout), { isTTY, columns: width }) as NodeJS.WriteStream;
  const context = (isTTY: boolean, width: number | undefined, env = {}) =>
    createContext({ stdout: stream(isTTY, width), stderr: stream(isTTY, width), env });
  it('is as wide as it says, or 80 when it does not say', () => {
    expect([132, 0, undefined].map((width) => context(true, width).columns)).toEqual([132, 80, 80]);
  });
  it('is coloured only where a person looks and did not ask for none', () => {
    const red = (isTTY: boolean, env = {}): string => context(isTTY, 80, env).colors.red('x');
    expect([red(false), red(true, { NO_COLOR: '1' }), red(true, { TERM: 'dumb' })]).toEqual(['x', 'x', 'x']);
    expect(red(true)).toBe('\u001b[31mx\u001b[39m');
    expect(red(true, { NO_COLOR: '' })).toBe('\u001b[31mx\u001b[39m');
  });
});
