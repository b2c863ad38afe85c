#!/usr/bin/env node
// Runs the native tests and the engine's real-process tests under ASan with UBSan, and under TSan. Owns the summary and the exit
// code; how a sanitizer is built and which options it gets is native/sanitise.sh's.
// usage: npm run sanitise [-- --only asan|tsan] [--jobs N]
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const KINDS = ['asan', 'tsan'];

/** Of a test, and of what is made before its file's tests: a sanitized engine computes many times slower. */
const TIMEOUT_MS = 600_000;

/** The options that native/sanitise.sh gives the native tests, and what a preloaded library needs beside them. */
function sanitizerOptions() {
  const script = readFileSync(join(root, 'native/sanitise.sh'), 'utf8');
  const found = [...script.matchAll(/^export ([A-Z]+_OPTIONS)="(.*)"$/gm)];
  const options = Object.fromEntries(found.map(([, name, value]) => [String(name), String(value)]));
  return { ...options, ASAN_OPTIONS: `${options['ASAN_OPTIONS']}:verify_asan_link_order=0` };
}

/** @param {string} kind */
function realProcesses(kind) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const patience = ['--testTimeout', String(TIMEOUT_MS), '--hookTimeout', String(TIMEOUT_MS)];
  const argv = [vitest, 'run', 'test/native', ...patience, '--maxWorkers', '1'];
  const env = {
    ...process.env,
    ...sanitizerOptions(),
    ROTA_BUILD: join(root, `native/build/host-${kind}/bin`),
    ROTA_SANITIZER: kind,
  };
  return spawnSync(process.execPath, argv, { cwd: root, env, stdio: 'inherit' }).status ?? 1;
}

function main() {
  const { values } = parseArgs({ options: { only: { type: 'string' }, jobs: { type: 'string' } } });
  const kinds = values.only === undefined ? KINDS : [values.only];
  const unknown = kinds.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined) {
    process.stderr.write(`--only ${unknown}: asan or tsan\n`);
    return 2;
  }
  const summary = [];
  for (const kind of kinds) {
    const argv = ['--only', kind, ...(values.jobs === undefined ? [] : ['--jobs', values.jobs])];
    const native = spawnSync(join(root, 'native/sanitise.sh'), argv, { stdio: 'inherit' }).status ?? 1;
    const built = existsSync(join(root, `native/build/host-${kind}/bin/rota-strata`));
    const engine = native === 3 || !built ? 3 : realProcesses(kind);
    summary.push({ kind, native, engine });
  }
  for (const { kind, native, engine } of summary) {
    const word = (/** @type {number} */ status) => (status === 0 ? 'clean' : `exit ${status}`);
    process.stdout.write(`${kind}: native tests ${word(native)}, real processes ${word(engine)}\n`);
  }
  return summary.every(({ native, engine }) => native === 0 && engine === 0) ? 0 : 1;
}

process.exitCode = main();
