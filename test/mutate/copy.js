// The copy of the tree in which mistakes are planted, and its native build. Owns both; judges nothing.
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
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { STAMP, sourcesDigest } from '../../bin/setup/typescript.js';

/** What the build and the tests read. */
const COPIED = ['native', 'src', 'test', 'bin', 'engines', 'protocols', 'docs', 'README.md'];
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts'];

/**
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 */
function run(command, args, options = {}) {
  return /** @type {import('node:child_process').SpawnSyncReturns<string>} */ (
    spawnSync(command, args, { maxBuffer: 1 << 28, ...options, encoding: 'utf8' })
  );
}

/**
 * Makes `to` hold what `from` holds; equal files keep their time stamps, so that a kept folder builds what changed.
 * @param {string} from
 * @param {string} to
 * @param {string} [skip]
 */
function mirror(from, to, skip) {
  if (!statSync(from).isDirectory()) {
    if (!existsSync(to) || !readFileSync(from).equals(readFileSync(to))) copyFileSync(from, to);
    return;
  }
  mkdirSync(to, { recursive: true });
  const names = readdirSync(from).filter((name) => join(from, name) !== skip);
  for (const name of readdirSync(to))
    if (!names.includes(name) && join(from, name) !== skip) rmSync(join(to, name), { recursive: true });
  for (const name of names) mirror(join(from, name), join(to, name), skip);
}

/** The command line looks for them there; they are the project's own, whatever is planted. @param {string} tree @param {string} built */
function linkPrograms(tree, built) {
  const folder = join(tree, 'native/build/host');
  if (!existsSync(built) || existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  symlinkSync(built, join(folder, 'bin'));
}

/**
 * The copy, its build, and the programs of the project itself.
 * @typedef {{tree: string, build: string, built: string}} Place
 */

/**
 * Copies the tree and, where something is to be built, configures a build in it.
 * @param {string} root
 * @param {{kept: string | undefined, builds: boolean}} options kept: a folder that stays for the next run
 * @returns {{place: Place} | {failure: string}}
 */
export function makeCopy(root, { kept, builds }) {
  const tree = kept === undefined ? mkdtempSync(join(tmpdir(), 'rota-mutate-')) : resolve(kept);
  if (kept === undefined) process.on('exit', () => rmSync(tree, { recursive: true, force: true }));
  process.on('SIGINT', () => process.exit(130));
  process.on('SIGTERM', () => process.exit(143));
  mkdirSync(tree, { recursive: true });
  for (const name of [...COPIED, ...SETTINGS])
    if (existsSync(join(root, name))) mirror(join(root, name), join(tree, name), join(root, 'native/build'));
  const modules = join(tree, 'node_modules');
  if (!existsSync(modules) && existsSync(join(root, 'node_modules')))
    symlinkSync(resolve(root, 'node_modules'), modules);
  // Beside the place of the project's own, so that a cache of compilations serves both; not there, where linkPrograms puts those.
  const build = join(tree, 'native/build/mutated');
  const place = { tree, build, built: resolve(root, 'native/build/host/bin') };
  linkPrograms(tree, place.built);
  if (!builds) return { place };
  const generator = run('ninja', ['--version']).status === 0 ? ['-G', 'Ninja'] : [];
  const sources = ['-S', join(tree, 'native'), '-B', build];
  const configured = run('cmake', [...sources, ...generator, '-DCMAKE_BUILD_TYPE=Release']);
  if (configured.status !== 0) return { failure: `the copy cannot be configured:\n${configured.stderr}` };
  return { place };
}

/**
 * What a suite runs: native programs, and the emitted TypeScript where it starts the command line.
 * @param {Place} place
 * @param {import('./plan.js').Suite} suite
 */
export function compile({ build, tree }, { targets, emits }) {
  const emitted = emits ? emit(tree) : { status: 0, stdout: '' };
  if (emitted.status !== 0) return emitted;
  if (targets.length === 0) return { status: 0, stdout: '' };
  return run('cmake', ['--build', build, '-j', String(availableParallelism()), '--target', ...targets]);
}

/**
 * Unchecked: a mistake is to be caught by a test, not by its types. What cannot be parsed is no mistake of the kind.
 * @param {string} tree
 */
function emit(tree) {
  const tsc = join(tree, 'node_modules/typescript/bin/tsc');
  const dist = join(tree, 'dist');
  const argv = [tsc, '-p', 'src/tsconfig.json', '--noCheck', '--outDir', dist];
  const emitted = run(process.execPath, argv, { cwd: tree });
  if (emitted.status === 0) writeFileSync(join(dist, STAMP), sourcesDigest(tree));
  return emitted;
}
