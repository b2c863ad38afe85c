// The two test suites: vitest and ctest. Owns how their counts are read; a suite that ran no test has failed.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { runLogged } from '../../../bin/setup/command.js';

/**
 * @param {string} root
 * @param {(line: string) => void} progress
 * @returns {Promise<import('./result.js').CheckResult>}
 */
export async function vitest(root, progress) {
  const program = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const argv = [process.execPath, program, 'run', '--reporter=default'];
  return suite(argv, root, {
    log: 'test-vitest.log',
    progress,
    counts: (line) => {
      const summary = /^\s*Tests\s+(.*)\(\d+\)/.exec(line)?.[1];
      if (summary === undefined) return undefined;
      return { passed: numberBefore(summary, 'passed'), failed: numberBefore(summary, 'failed') };
    },
    isFailure: (line) => /^\s*(FAIL|×)\s/.test(line) || /^\s*(AssertionError|Error|TypeError):/.test(line),
  });
}

/**
 * Each room is one program of many doctest cases; their own summary lines are what is counted.
 * @param {string} root
 * @param {(line: string) => void} progress
 * @returns {Promise<import('./result.js').CheckResult>}
 */
export async function ctest(root, progress) {
  const jobs = Math.min(2, availableParallelism());
  const argv = [
    'ctest',
    '--test-dir',
    'native/build/host',
    '--verbose',
    '-j',
    String(jobs),
    '--no-tests=error',
  ];
  return suite(argv, root, {
    log: 'test-ctest.log',
    progress,
    counts: (line) => {
      const match = /\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed/.exec(line);
      return match === null ? undefined : { passed: Number(match[1]), failed: Number(match[2]) };
    },
    isFailure: (line) => /ERROR: |TEST CASE:|\*\*\*(Failed|Exception|Timeout)/.test(line),
  });
}

/**
 * @typedef {object} SuiteReading
 * @property {string} log
 * @property {(line: string) => void} progress
 * @property {(line: string) => {passed: number, failed: number} | undefined} counts
 * @property {(line: string) => boolean} isFailure
 */

/**
 * @param {readonly string[]} argv
 * @param {string} root
 * @param {SuiteReading} reading
 * @returns {Promise<import('./result.js').CheckResult>}
 */
async function suite(argv, root, { log, progress, counts, isFailure }) {
  const path = join(root, 'native/build', log);
  let passed = 0;
  let failed = 0;
  /** @type {string[]} */
  const failures = [];
  const { code, tail } = await runLogged(argv, {
    cwd: root,
    log: path,
    env: { NO_COLOR: '1', FORCE_COLOR: '0', CI: process.env['CI'] ?? '' },
    onLine: (line) => {
      const found = counts(line);
      passed += found?.passed ?? 0;
      failed += found?.failed ?? 0;
      if (isFailure(line)) failures.push(line.trim());
      progress(line);
    },
  });
  if (code === 0 && failed === 0 && passed > 0) return { passed, failures: [], note: `${passed} tests` };
  if (passed + failed === 0) failures.push('ran no test');
  const lines = [...failures.slice(0, 40), ...tail.slice(-5), `exit ${code}; the whole log: ${path}`];
  return { passed, failed, failures: lines };
}

/**
 * @param {string} text
 * @param {string} word
 */
function numberBefore(text, word) {
  return Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0);
}
