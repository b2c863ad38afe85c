// The shape of a source file: at most 300 lines, a first line that says what it owns, nothing left to do. Owns those rules.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles } from '../files.js';
import { filesResult } from './result.js';

const MAX_LINES = 300;
/** Spelt apart, so that this file does not find itself. */
const LEFT_TO_DO = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK'].join('|')})\\b`);

/**
 * @param {string} root
 * @returns {import('./result.js').CheckResult}
 */
export function fileShape(root) {
  const files = listFiles(root, ['src', 'bin', 'test', 'native'], /\.(ts|js|cjs|mjs|cc|cpp|h|cuh?)$/);
  const failures = files.flatMap((file) => shapeProblems(root, file));
  return filesResult(files.length, failures, 'files');
}

/**
 * @param {string} root
 * @param {string} file
 */
function shapeProblems(root, file) {
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  const problems = [];
  const count = lines.length - (lines.at(-1) === '' ? 1 : 0);
  if (count > MAX_LINES) problems.push(`${file}: ${count} lines; ${MAX_LINES} at most`);
  const first = lines[0]?.startsWith('#!') ? lines[1] : lines[0];
  if (mustIntroduceItself(root, file) && !/^(\/\/|\/\*)/.test(first ?? '')) {
    problems.push(`${file}: its first line must say what it owns`);
  }
  const at = lines.findIndex((line) => LEFT_TO_DO.test(line));
  if (at !== -1) problems.push(`${file}:${at + 1}: something is left to do: ${lines[at]?.trim()}`);
  return problems;
}

/**
 * A test is named after what it tests, and foo.cc is introduced by foo.h (foo.cu by foo.cuh too).
 * @param {string} root
 * @param {string} file
 */
function mustIntroduceItself(root, file) {
  if (/^test\/.*\.ts$|_test\.cc$|\/test_main\.cpp$/.test(file)) return false;
  const stem = file.replace(/\.(cc|cu)$/, '');
  return stem === file || ![`${stem}.h`, `${stem}.cuh`].some((header) => existsSync(join(root, header)));
}
