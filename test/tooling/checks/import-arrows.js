// Import arrows of src/ by dependency-cruiser. Owns the least number of modules it must have seen: with a compiler it does
// not understand it sees none and calls that good. The rules are in ../arrows.cjs.
import { join } from 'node:path';
import { runLogged } from '../../../bin/setup/command.js';
import { listFiles } from '../files.js';
import { filesResult } from './result.js';

/**
 * @param {string} root
 * @returns {Promise<import('./result.js').CheckResult>}
 */
export async function importArrows(root) {
  const cruiser = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  const argv = [
    process.execPath,
    cruiser,
    '--config',
    'test/tooling/arrows.cjs',
    '--output-type',
    'json',
    'src',
  ];
  let json = '';
  const { code, tail } = await runLogged(argv, {
    cwd: root,
    log: join(root, 'native/build/check-import-arrows.log'),
    onLine: (line) => {
      json += line;
    },
  });
  const summary = parseSummary(json);
  if (summary === undefined)
    return { passed: 0, failures: [`dependency-cruiser failed (exit ${code})`, ...tail.slice(-10)] };
  const sources = listFiles(root, ['src'], /\.ts$/);
  const seen = new Set(summary.sources);
  const missed = sources
    .filter((file) => !seen.has(file))
    .map((file) => `${file}: not seen by dependency-cruiser`);
  return filesResult(summary.sources.length, [...summary.violations, ...missed], 'modules');
}

/**
 * @param {string} json
 * @returns {{sources: string[], violations: string[]} | undefined}
 */
function parseSummary(json) {
  try {
    const parsed = JSON.parse(json);
    return {
      sources: parsed.modules.map((/** @type {{source: string}} */ module) => module.source).filter(isOwn),
      violations: parsed.summary.violations.map(
        (/** @type {{from: string, to: string, rule: {name: string}}} */ v) =>
          `${v.from} -> ${v.to}: ${v.rule.name}`,
      ),
    };
  } catch {
    return undefined;
  }
}

/** @param {string} source */
function isOwn(source) {
  return source.startsWith('src/');
}
