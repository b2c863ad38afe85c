// Dead code: unused files, exports and packages by knip. Owns how its answer is read; the entries are in knip.json.
import { join } from 'node:path';
import { runLogged } from '../../../bin/setup/command.js';
import { listFiles } from '../files.js';
import { filesResult } from './result.js';

/**
 * @param {string} root
 * @returns {Promise<import('./result.js').CheckResult>}
 */
export async function deadCode(root) {
  const knip = join(root, 'node_modules', 'knip', 'bin', 'knip.js');
  const argv = [process.execPath, knip, '--no-progress', '--treat-config-hints-as-errors'];
  const { code, tail } = await runLogged(argv, {
    cwd: root,
    log: join(root, 'native/build/check-dead-code.log'),
  });
  const seen = listFiles(root, ['src', 'test', 'bin'], /\.(ts|js)$/).length;
  return filesResult(seen, code === 0 ? [] : tail.filter((line) => line.trim() !== ''), 'files');
}
