#!/usr/bin/env node
// Plants one mistake at a time in a copy of native/ and expects a test to notice. Owns the copy, the verdicts and the table;
// knows no mistake by itself: they are in mutations.json, whose format README.md describes.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const usage = `Usage: npm run mutate [-- --only TEXT] [-- --list]
  --only TEXT   only mutations whose name or file contains TEXT
  --list        print the mutations and stop
  --native DIR  the sources to copy (default: native)
  --work DIR    keep the copy and its build there, so that the next run starts at once (default: a temporary folder)
Example: npm run mutate -- --only sinkhorn`;

const root = resolve(import.meta.dirname, '../..');

// A mistake may leave a parameter or a variable unused: it must be caught by a test, not by a warning.
const UNUSED_IS_FINE =
  '-DCMAKE_CXX_FLAGS=-Wno-error=unused-parameter -Wno-error=unused-variable -Wno-error=unused-function';

function fail(message) {
  console.error(message);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        list: { type: 'boolean' },
        help: { type: 'boolean' },
        native: { type: 'string' },
        work: { type: 'string' },
        mutations: { type: 'string' },
      },
    }).values;
  } catch (error) {
    return fail(`${error.message}\n${usage}`);
  }
}

function run(command, args, options = {}) {
  return spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
}

/** Makes `to` hold what `from` holds; equal files keep their time stamps, so that a kept folder builds what changed. */
function mirror(from, to, skip) {
  mkdirSync(to, { recursive: true });
  const names = readdirSync(from).filter((name) => join(from, name) !== skip);
  for (const name of readdirSync(to)) if (!names.includes(name)) rmSync(join(to, name), { recursive: true });
  for (const name of names) {
    const [source, copy] = [join(from, name), join(to, name)];
    if (statSync(source).isDirectory()) mirror(source, copy, skip);
    else if (!existsSync(copy) || !readFileSync(source).equals(readFileSync(copy)))
      copyFileSync(source, copy);
  }
}

/** Copies the sources and configures a build beside them. */
function prepare(source, kept) {
  const folder = kept === undefined ? mkdtempSync(join(tmpdir(), 'rota-mutate-')) : resolve(kept);
  if (kept === undefined) process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.on('SIGINT', () => process.exit(130));
  const [native, build] = [join(folder, 'native'), join(folder, 'build')];
  mirror(source, native, join(source, 'build'));
  const generator = run('ninja', ['--version']).status === 0 ? ['-G', 'Ninja'] : [];
  const configured = run('cmake', [
    '-S',
    native,
    '-B',
    build,
    ...generator,
    '-DCMAKE_BUILD_TYPE=Release',
    UNUSED_IS_FINE,
  ]);
  if (configured.status !== 0) fail(`the copy cannot be configured:\n${configured.stderr}`);
  return { native, build };
}

function compile(build, targets) {
  return run('cmake', ['--build', build, '-j', String(availableParallelism()), '--target', ...targets]);
}

/** Runs a suite's commands until one fails. Returns what failed, or null when every command passed. */
function firstFailure(suite, build) {
  const filled = (text) => text.replaceAll('{build}', build);
  const env = Object.fromEntries(
    Object.entries(suite.env ?? {}).map(([name, value]) => [name, filled(value)]),
  );
  for (const [command, ...args] of suite.commands) {
    const result = run(filled(command), args.map(filled), {
      cwd: root,
      env: { ...process.env, ...env },
      timeout: (suite.timeoutSeconds ?? 300) * 1000,
      killSignal: 'SIGKILL',
    });
    if (result.error?.code === 'ENOENT') fail(`${filled(command)}: no such program`);
    if (result.status !== 0) return describeFailure(command, result);
  }
  return null;
}

/** The first failed test's name from doctest's or vitest's output. */
function describeFailure(command, { stdout, stderr, signal }) {
  const text = `${stdout ?? ''}\n${stderr ?? ''}`;
  const name = /TEST CASE:\s*(.+)/.exec(text)?.[1] ?? /FAIL\s+(.+)/.exec(text)?.[1];
  return name?.trim() ?? (signal ? `${command} ended by ${signal}` : `${command} failed`);
}

function count(text, part) {
  return text.split(part).length - 1;
}

/** Plants one mutation, judges it, and takes it out again. */
function judge(mutation, suites, place) {
  const path = join(place.native, mutation.file);
  if (!existsSync(path)) return { verdict: 'no such file', detail: mutation.file };
  const original = readFileSync(path, 'utf8');
  const found = count(original, mutation.find);
  if (found !== 1)
    return { verdict: 'does not apply', detail: `"find" occurs ${found} times in ${mutation.file}` };
  writeFileSync(
    path,
    original.replace(mutation.find, () => mutation.replace),
  );
  try {
    for (const name of mutation.suites) {
      const suite = suites[name];
      const built = compile(place.build, suite.targets);
      if (built.status !== 0)
        return { verdict: 'does not build', detail: /error: .*/.exec(built.stdout)?.[0] ?? '' };
      const failure = firstFailure(suite, place.build);
      if (failure !== null) return { verdict: 'caught', detail: failure };
    }
    return { verdict: 'SURVIVED', detail: '' };
  } finally {
    writeFileSync(path, original);
  }
}

/** Without mutations every suite must pass, or the verdicts would mean nothing. */
function checkBaseline(names, suites, place) {
  for (const name of names) {
    const built = compile(place.build, suites[name].targets);
    if (built.status !== 0) fail(`suite ${name} does not build:\n${built.stdout.slice(-4000)}`);
    const failure = firstFailure(suites[name], place.build);
    if (failure !== null) fail(`suite ${name} fails without any mutation: ${failure}`);
  }
}

function main() {
  const options = readArguments();
  if (options.help) return console.log(usage);
  const file = resolve(options.mutations ?? join(import.meta.dirname, 'mutations.json'));
  const { suites, mutations } = JSON.parse(readFileSync(file, 'utf8'));
  for (const { name, suites: named } of mutations) {
    const unknown = named.find((suite) => suites[suite] === undefined);
    if (unknown !== undefined)
      fail(`mutation "${name}" names suite "${unknown}", which ${file} does not define`);
  }
  const chosen = mutations.filter(({ name, file: path }) => `${name} ${path}`.includes(options.only ?? ''));
  if (chosen.length === 0) fail(`no mutation contains "${options.only}"`);
  if (options.list) return console.log(chosen.map(({ name, file: path }) => `${path}: ${name}`).join('\n'));

  const place = prepare(resolve(root, options.native ?? 'native'), options.work);
  checkBaseline([...new Set(chosen.flatMap((mutation) => mutation.suites))], suites, place);
  const bad = [];
  for (const [index, mutation] of chosen.entries()) {
    const start = performance.now();
    const { verdict, detail } = judge(mutation, suites, place);
    const seconds = ((performance.now() - start) / 1000).toFixed(0).padStart(3);
    console.log(
      `${String(index + 1).padStart(3)}/${chosen.length} ${verdict.padEnd(14)} ${seconds} s  ${mutation.name}  <- ${detail}`,
    );
    if (verdict !== 'caught') bad.push(`${verdict}: ${mutation.name} (${mutation.file})`);
  }
  console.log(`${chosen.length - bad.length} of ${chosen.length} mutations caught`);
  if (bad.length > 0) {
    console.log(bad.join('\n'));
    process.exitCode = 1;
  }
}

main();
