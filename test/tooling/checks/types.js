// Types: the whole tree by tsc. Owns how its answer is read; the options are in tsconfig.json.
import { join } from 'node:path';
import { runLogged } from '../../../bin/setup/command.js';
import { filesResult } from './result.js';

/**
 * @param {string} root
 * @returns {Promise<import('./result.js').CheckResult>}
 */
export async function types(root) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const log = join(root, 'native/build/check-types.log');
  const argv = [process.execPath, tsc, '-p', 'tsconfig.json', '--noEmit', '--pretty', 'false', '--listFiles'];
  /** @type {string[]} */
  const errors = [];
  let seen = 0;
  const { code, tail } = await runLogged(argv, {
    cwd: root,
    log,
    onLine: (line) => {
      if (line.includes('error TS')) errors.push(line);
      else if (!line.includes('node_modules')) seen += 1;
    },
  });
  const failures = code === 0 || errors.length > 0 ? errors : tail;
  return filesResult(seen, failures, 'files');
}
