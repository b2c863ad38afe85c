// C++: formatting by clang-format. Owns which files; the style is in .clang-format.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from '@wasm-fmt/clang-format';
import { listFiles } from '../files.js';
import { filesResult } from './result.js';

/**
 * @param {string} root
 * @returns {import('./result.js').CheckResult}
 */
export function clangFormat(root) {
  const style = readFileSync(join(root, '.clang-format'), 'utf8');
  const files = listFiles(root, ['native'], /\.(cc|cpp|h|cuh?)$/);
  const failures = files.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return format(text, file, style) !== text;
  });
  return filesResult(
    files.length,
    failures.map((file) => `${file}: not formatted; run: npm run format`),
    'files',
  );
}
