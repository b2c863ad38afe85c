// The runner is proven on a small project of its own: what must catch does, what survives is said, and stale plans are refused.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';

const program = path.join(import.meta.dirname, 'mutate.js');
const trees: string[] = [];

afterEach(() => {
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true, force: true });
});

const GOOD = { name: 'one becomes two', file: 'src/one.ts', find: '= 1', replace: '= 2', suites: ['one'] };

/** A project whose one suite is a program that fails unless src/one.ts says 1. */
function project(rooms: Record<string, readonly object[]>): string {
  const tree = mkdtempSync(path.join(tmpdir(), 'rota-mutate-test-'));
  trees.push(tree);
  const write = (file: string, text: string) => {
    mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
    writeFileSync(path.join(tree, file), text);
  };
  write('src/one.ts', 'export const one = 1;\n');
  write(
    'native/CMakeLists.txt',
    'cmake_minimum_required(VERSION 3.22)\nproject(x NONE)\nadd_custom_target(x)\n',
  );
  const suite = { targets: ['x'], commands: [['grep', '-q', 'one = 1', 'src/one.ts']] };
  write('suites.json', JSON.stringify({ one: suite }));
  for (const [room, mutations] of Object.entries(rooms))
    write(`mutations/${room}.json`, JSON.stringify(mutations));
  return tree;
}

function mutate(tree: string, ...args: string[]): { status: number | null; said: string } {
  const argv = [program, '--tree', tree, '--plan', tree, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

test('a mistake in TypeScript is planted, caught and taken out; one that nothing notices survives', () => {
  const quiet = { ...GOOD, name: 'const becomes let', find: 'const', replace: 'let' };
  const tree = project({ a: [GOOD], b: [quiet] });
  expect(mutate(tree, '--room', 'a')).toMatchObject({ status: 0 });
  const both = mutate(tree, '--work', path.join(tree, 'work'));
  expect(both.status).toBe(1);
  expect(both.said).toMatch(/1\/2 caught .* one becomes two/);
  expect(both.said).toContain('SURVIVED: const becomes let (src/one.ts)');
});

test('what only the time limit notices is said to be that, and nothing that was started lives on', () => {
  const tree = project({ a: [GOOD] });
  const pids = path.join(tree, 'pids');
  const sleeps = `grep -q 'one = 1' src/one.ts || { sleep 600 & echo $! > ${pids}; wait; }`;
  const suite = { targets: [], commands: [['sh', '-c', sleeps]], timeoutSeconds: 1 };
  writeFileSync(path.join(tree, 'suites.json'), JSON.stringify({ one: suite }));
  const { status, said } = mutate(tree);
  expect(status).toBe(1);
  expect(said).toContain('TIMED OUT: one becomes two (src/one.ts)');
  const commandLine = `/proc/${readFileSync(pids, 'utf8').trim()}/cmdline`;
  // An ended process that nobody has waited for yet has an empty one.
  expect(existsSync(commandLine) ? readFileSync(commandLine, 'utf8') : '').toBe('');
  writeFileSync(path.join(tree, 'mutations/a.json'), JSON.stringify([{ ...GOOD, hangs: true }]));
  expect(mutate(tree)).toMatchObject({ status: 0 });
});

test('a test that vitest gave up on is a time limit too; one that failed is not', () => {
  const tree = project({ a: [GOOD] });
  const failing = (words: string) => {
    const says = `grep -q 'one = 1' src/one.ts || { echo ' FAIL  x.test.ts > it'; echo '${words}'; exit 1; }`;
    const suite = { targets: [], commands: [['sh', '-c', says]] };
    writeFileSync(path.join(tree, 'suites.json'), JSON.stringify({ one: suite }));
    return mutate(tree).said;
  };
  expect(failing('Error: Test timed out in 60000ms.')).toMatch(
    /TIMED OUT .* <- x\.test\.ts > it: Error: Test/,
  );
  expect(failing('AssertionError: expected 1')).toMatch(/caught .* <- x\.test\.ts > it: AssertionError: exp/);
});

test('what a native mistake leaves unused is no warning; what it breaks is named by its own line', () => {
  const tree = project({ a: [] });
  const file = path.join(tree, 'native/twice.cc');
  writeFileSync(file, 'int twice(int x) {\n  const int y = x;\n  return 2 * y;\n}\n');
  const compile = [
    'sh',
    '-c',
    'g++ -Wall -Wextra -Werror -fsyntax-only native/twice.cc || { echo "FAIL $(g++ -fsyntax-only native/twice.cc 2>&1)"; exit 1; }',
  ];
  writeFileSync(
    path.join(tree, 'suites.json'),
    JSON.stringify({ gcc: { targets: [], commands: [compile] } }),
  );
  const mistake = { name: 'nothing', file: 'twice.cc', find: '2 * y', replace: '0', suites: ['gcc'] };
  const typo = { ...mistake, name: 'typo', replace: '2 * z' };
  writeFileSync(path.join(tree, 'mutations/a.json'), JSON.stringify([mistake, typo]));
  const { said } = mutate(tree);
  expect(said).toMatch(/1\/2 SURVIVED .* nothing/);
  expect(said).toMatch(/2\/2 caught .* typo .*/);
  expect(said).toContain('twice.cc');
});

test('a mistake in TypeScript that is none, because nothing can be emitted, does not build', () => {
  const cut = { ...GOOD, name: 'cut short', replace: '= ' };
  const tree = project({ a: [GOOD, cut] });
  symlinkSync(path.resolve(import.meta.dirname, '../../node_modules'), path.join(tree, 'node_modules'));
  const settings = { compilerOptions: { module: 'nodenext', target: 'es2022', types: [] } };
  writeFileSync(path.join(tree, 'src/tsconfig.json'), JSON.stringify(settings));
  for (const name of ['tsconfig.json', 'package-lock.json']) writeFileSync(path.join(tree, name), '{}');
  const suite = { targets: [], emits: true, commands: [['grep', '-q', 'one = 1', 'dist/one.js']] };
  writeFileSync(path.join(tree, 'suites.json'), JSON.stringify({ one: suite }));
  const { status, said } = mutate(tree);
  expect(status).toBe(1);
  expect(said).toMatch(/1\/2 caught .* one becomes two/);
  expect(said).toMatch(/2\/2 does not build .* cut short {2}<- error TS1109: Expression expected\./);
});

test.each([
  ['a name twice', { a: [GOOD], b: [GOOD] }, /"one becomes two" is in mutations\/a\.json too/],
  ['an unknown suite', { a: [{ ...GOOD, suites: ['two'] }] }, /names suite "two"/],
  ['no suite', { a: [{ ...GOOD, suites: [] }] }, /has neither suites nor tests/],
  ['a text that is gone', { a: [{ ...GOOD, find: '= 3' }] }, /"find" occurs 0 times in src\/one\.ts/],
  ['a file that is gone', { a: [{ ...GOOD, file: 'model/x.cc' }] }, /no such file: model\/x\.cc/],
])('%s is refused by --check', (_, rooms, says) => {
  const { status, said } = mutate(project(rooms), '--check');
  expect(status).toBe(2);
  expect(said).toMatch(says);
});
