// Runs every check and suite, one line each, and ends with the counts. Owns the list and the order; no check stops another.
// usage: node test/tooling/run-checks.js [name ...]   with names, only those
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { biome } from './checks/biome.js';
import { clangFormat } from './checks/clang-format.js';
import { cuda } from './checks/cuda.js';
import { deadCode } from './checks/dead-code.js';
import { fileShape } from './checks/file-shape.js';
import { importArrows } from './checks/import-arrows.js';
import { knobs } from './checks/knobs.js';
import { mutations } from './checks/mutations.js';
import { loneHeaders, nativeArrows } from './checks/native-arrows.js';
import { ctest, vitest } from './checks/suites.js';
import { treeSize } from './checks/tree-size.js';
import { types } from './checks/types.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** @typedef {import('./checks/result.js').CheckResult} CheckResult */
/** @type {readonly [string, (progress: (line: string) => void) => CheckResult | Promise<CheckResult>][]} */
const CHECKS = [
  ['format', () => biome(root, 'format')],
  ['lint', () => biome(root, 'lint')],
  ['clang-format', () => clangFormat(root)],
  ['file-shape', () => fileShape(root)],
  ['tree-size', () => treeSize(root)],
  ['types', () => types(root)],
  ['dead-code', () => deadCode(root)],
  ['import-arrows', () => importArrows(root)],
  ['native-arrows', () => nativeArrows(root)],
  ['lone-headers', () => loneHeaders(root)],
  ['mutations', () => mutations(root)],
  ['knobs', () => knobs(root)],
  ['vitest', (progress) => vitest(root, progress)],
  ['ctest', (progress) => ctest(root, progress)],
  ['cuda', (progress) => cuda(root, progress)],
];

/** @param {string} line */
function progress(line) {
  if (!process.stdout.isTTY) return;
  process.stdout.write(`\r\u001b[2K${line.trim().slice(0, (process.stdout.columns ?? 80) - 1)}`);
}

/** @param {readonly string[]} names */
async function main(names) {
  const unknown = names.find((name) => !CHECKS.some(([known]) => known === name));
  if (unknown !== undefined) {
    process.stderr.write(`no check is named ${unknown}; known: ${CHECKS.map(([name]) => name).join(', ')}\n`);
    return 2;
  }
  let passed = 0;
  let failed = 0;
  const started = performance.now();
  for (const [name, check] of CHECKS) {
    if (names.length > 0 && !names.includes(name)) continue;
    const from = performance.now();
    const result = await check(progress);
    const seconds = ((performance.now() - from) / 1000).toFixed(1).padStart(6);
    const isGood = result.failures.length === 0;
    progress('');
    if (process.stdout.isTTY) process.stdout.write('\r');
    process.stdout.write(
      `${isGood ? 'ok  ' : 'FAIL'} ${name.padEnd(14)} ${seconds} s  ${result.note ?? ''}\n`,
    );
    for (const line of result.failures) process.stdout.write(`       ${line}\n`);
    passed += result.passed;
    failed += isGood ? 0 : Math.max(1, result.failed ?? 1);
  }
  const total = ((performance.now() - started) / 1000).toFixed(0);
  process.stdout.write(`${passed} passed, ${failed} failed (${total} s)\n`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
