// What nobody means and somebody types: one clear line, the right exit code, and no stack.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { numberArgument, wholeArgument } from '../../src/cli/arguments.ts';
import { systemTrouble } from '../../src/core/system-error.ts';
import { type Bench, createBench, protocol } from './helpers/rota.ts';

let bench: Bench;
beforeAll(() => {
  bench = createBench();
});
afterAll(() => bench.remove());

async function said(...argv: string[]): Promise<string> {
  const { exitCode, stderr } = await bench.rota(...argv);
  return `${exitCode}: ${bench.steady(stderr)}`;
}

describe('odd words', () => {
  it('are told in a line', async () => {
    const lines = await Promise.all([
      said('help', 'nope'),
      said('run', ''),
      said('ask', 'fake', ''),
      said('ask', 'fake', 'x', '-m', ''),
      said('ask', 'fake', 'x', '--seed', '1.5'),
      said('ask', 'fake', 'x', '--max-new', '99999999999'),
      said('ab', 'fake', 'model.gguf', '-a', '', '-b', '', '--blocks', '1001'),
      said('results', '--results', ''),
      said('engines', '--engines', 'no\nsuch\u001b[31mfolder'),
    ]);
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "2: rota help: there is no command "nope"; valid: doctor, build, which, engines, run, ab, resume, aa, report, fit, gate, results, ask, score, model, quantise, … (17)
      2: "": there is no such file
      2: rota: there is nothing to ask: the prompt is empty
      2: rota: the model has no name; write a path, mini, or synth:mini-s:1
      2: rota: option '--seed <number>' argument '1.5' is invalid. expected a whole number from 0; see rota ask --help
      2: rota: option '--max-new <count>' argument '99999999999' is invalid. expected a whole number from 1 to 2147483647; see rota ask --help
      2: rota: option '--blocks <count>' argument '1001' is invalid. expected a whole number from 1 to 1000; see rota ab --help
      2: rota: --results: needs the name of a folder
      3: rota: cannot list <bench>/no�such�[31mfolder: no such file or folder"
    `);
  });

  it('help of a command and of Rota is no failure; no word at all is', async () => {
    const codes = await Promise.all(
      [['help'], ['help', 'run'], ['run', '--help'], []].map((argv) => bench.rota(...argv)),
    );
    expect(codes.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 2]);
  });
});

describe('odd files', () => {
  it('a protocol that is no text, and one that is no protocol', async () => {
    writeFileSync(bench.path('bytes.yaml'), Buffer.from([0xff, 0, 1, 2, 0x0a]));
    expect(await said('run', 'bytes.yaml')).toBe('2: bytes.yaml: is not a text file');
    bench.write('prose-of-colons.yaml', Array.from({ length: 40 }, (_, i) => `a: b: ${i}\n  - c`).join('\n'));
    const { exitCode, stderr } = await bench.rota('run', 'prose-of-colons.yaml');
    expect(exitCode).toBe(2);
    expect(stderr.split('\n').length).toBeLessThanOrEqual(13);
    expect(stderr).toMatch(/\n… and \d+ more$/);
  });

  it('a results folder that cannot be made ends at once, under a file and where the system has none', async () => {
    bench.write('quick.yaml', protocol({ name: 'quick' }));
    const last = async (results: string): Promise<string> => {
      const { exitCode, stderr } = await bench.rota(
        'run',
        'quick.yaml',
        '--results',
        results,
        '--share-machine',
      );
      return `${exitCode}: ${bench.steady(stderr.split('\n').at(-1) ?? '')}`;
    };
    expect(await last(bench.path('quick.yaml/x'))).toBe(
      '3: rota: cannot make <bench>/quick.yaml/x: a part of the path is no folder',
    );
    expect(await last('/proc/no/such')).toMatch(
      /^3: rota: cannot make \/proc\/no\S*: no such file or folder$/,
    );
  }, 20_000);
});

describe('odd readers', () => {
  it('who stop reading, or cannot be told anything, change no exit code', async () => {
    const rota = `'${process.execPath}' bin/rota.js`;
    const root = bench.steady('').concat(new URL('../..', import.meta.url).pathname);
    const shell = async (script: string): Promise<string> =>
      (await promisify(execFile)('bash', ['-c', script], { cwd: root })).stdout.trim();
    const codes = await Promise.all([
      shell(`${rota} engines strata | head -c 1 > /dev/null; echo \${PIPESTATUS[0]}`),
      shell(`${rota} run no-such-file 2> /dev/full; echo $?`),
      shell(`${rota} run no-such-file 2>&-; echo $?`),
      shell(`${rota} engines > /dev/full 2> /dev/null; echo $?`),
    ]);
    expect(codes).toEqual(['0', '2', '2', '3']);
  });
});

describe('numbers on the command line', () => {
  const taken = (read: (word: string) => number, words: readonly string[]): unknown[] =>
    words.map((word) => {
      try {
        return read(word);
      } catch (error) {
        return (error as Error).message;
      }
    });
  it('are in their range, and nothing is rounded or guessed', () => {
    expect(
      taken(wholeArgument(1, 1000), ['1', '1000', '0', '1001', '-1', '1.0', '1e2', '', ' 1', '٣']),
    ).toEqual([1, 1000, ...new Array(8).fill('expected a whole number from 1 to 1000')]);
    expect(
      taken(numberArgument(0, 1, true), ['1', '0.5', '1e-3', '0', '1.1', 'NaN', 'Infinity', '']),
    ).toEqual([1, 0.5, 0.001, ...new Array(5).fill('expected a number above 0 to 1')]);
  });
});

describe('what the system refuses', () => {
  it('is told with its path; what only a mistake of Rota can cause is not taken for it', () => {
    const error = (more: object): Error => Object.assign(new Error('x'), more);
    expect([
      systemTrouble(error({ code: 'EACCES', syscall: 'open', path: '/a' })),
      systemTrouble(error({ code: 'ENOSPC', syscall: 'write' })),
      systemTrouble(error({ code: 'EBADF', syscall: 'write' })),
      systemTrouble(error({ code: 'ENOENT' })),
      systemTrouble(new TypeError('x')),
    ]).toEqual(['cannot open /a: permission denied', 'cannot write: no space is left', null, null, null]);
  });
});
