// TypeScript and JavaScript: formatting and lint by biome. Owns how its answer is read; the rules are in biome.json.
import { join } from 'node:path';
import { runLogged } from '../../../bin/setup/command.js';
import { filesResult } from './result.js';

/**
 * @param {string} root
 * @param {'format' | 'lint'} what
 * @returns {Promise<import('./result.js').CheckResult>}
 */
export async function biome(root, what) {
  const program = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const strict = what === 'lint' ? ['--error-on-warnings'] : [];
  const argv = [process.execPath, program, what, '--colors=off', '--max-diagnostics=50', ...strict];
  /** One line a diagnostic: place and rule; the rest of each is in the log. @type {string[]} */
  const found = [];
  const log = join(root, 'native/build', `check-${what}.log`);
  const { code, tail } = await runLogged(argv, {
    cwd: root,
    log,
    onLine: (line) => {
      if (/^\S.* ━+/.test(line)) found.push(line.replace(/\s*━+.*$/, ''));
    },
  });
  const seen = Number(/Checked (\d+) file/.exec(tail.join('\n'))?.[1] ?? 0);
  return filesResult(seen, code === 0 ? [] : [...found, `the whole log: ${log}`], 'files');
}
