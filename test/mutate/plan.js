// Which mistakes are planted and what must catch them. Owns the reading and checking of suites.json and mutations/*.json; plants nothing.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {{targets: string[], commands: string[][], env?: Record<string, string>, timeoutSeconds?: number,
 *   emits?: boolean}} Suite
 * @typedef {{name: string, file: string, find: string, replace: string, suites: string[], room: string, hangs?: boolean}} Mutation
 */

/** What a vitest file may start; `tests` of a mutation stands for such a suite. */
const PROGRAMS = ['rota-strata', 'rota-model', 'rota-probe', 'rota_faults'];

/**
 * A suite for these vitest files alone, so that a mistake costs one file's time. A mistake in TypeScript leaves the programs as they
 * are: the project's own are run. Only tests of the command line need it emitted.
 * @param {string[]} tests
 * @param {boolean} isNative
 * @returns {Suite}
 */
function vitestSuite(tests, isNative) {
  return {
    targets: isNative ? PROGRAMS : [],
    commands: [['node', 'node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...tests]],
    env: { ROTA_BUILD: isNative ? '{build}/bin' : '{built}' },
    timeoutSeconds: 300,
    emits: !isNative && tests.some((test) => test.startsWith('test/cli/')),
  };
}

/** @param {string} file */
const isTypescript = (file) => /^(src|bin)\//.test(file);

/** Where a mutated file lies below the project's root: TypeScript by its own path, all else in native/. @param {string} file */
export function pathInTree(file) {
  return isTypescript(file) ? file : join('native', file);
}

/**
 * @param {string} folder holds suites.json and mutations/
 * @returns {{suites: Record<string, Suite>, mutations: Mutation[], problems: string[]}}
 */
export function readPlan(folder) {
  /** @type {Record<string, Suite>} */
  const suites = JSON.parse(readFileSync(join(folder, 'suites.json'), 'utf8'));
  /** @type {Mutation[]} */
  const mutations = [];
  /** @type {string[]} */
  const problems = [];
  for (const file of readdirSync(join(folder, 'mutations')).sort()) {
    const room = file.replace(/\.json$/, '');
    for (const entry of JSON.parse(readFileSync(join(folder, 'mutations', file), 'utf8'))) {
      const { tests, ...mutation } = entry;
      const own =
        tests === undefined ? [] : [`${isTypescript(entry.file) ? '' : 'native '}${tests.join(' ')}`];
      for (const suite of own) suites[suite] = vitestSuite(tests, !isTypescript(entry.file));
      mutations.push({ ...mutation, room, suites: [...(mutation.suites ?? []), ...own] });
    }
  }
  const seen = new Map();
  for (const { name, room, suites: named } of mutations) {
    const where = `mutations/${room}.json: "${name}"`;
    if (seen.has(name))
      problems.push(`${where} is in mutations/${seen.get(name)}.json too: names are to differ`);
    seen.set(name, room);
    if (named.length === 0) problems.push(`${where} has neither suites nor tests`);
    for (const suite of named)
      if (suites[suite] === undefined)
        problems.push(`${where} names suite "${suite}", which suites.json does not define`);
  }
  return { suites, mutations, problems };
}

// A mistake may leave something unused: it must be caught by a test, not by a warning.
const UNUSED_IS_FINE = ['parameter', 'variable', 'but-set-variable', 'but-set-parameter', 'function']
  .map((what) => `#pragma GCC diagnostic ignored "-Wunused-${what}"\n`)
  .join('');

/**
 * The file's text with the mistake in it; its lines keep their numbers.
 * @param {Mutation} mutation
 * @param {string} original
 */
export function planted({ file, find, replace }, original) {
  const text = original.replace(find, () => replace);
  return /\.(cc|h)$/.test(file) ? `${UNUSED_IS_FINE}#line 1\n${text}` : text;
}

/**
 * What keeps a mutation from being planted in this tree, or null.
 * @param {Mutation} mutation
 * @param {string} tree
 */
export function whyNotApplicable({ file, find, replace }, tree) {
  const path = join(tree, pathInTree(file));
  if (!existsSync(path)) return `no such file: ${file}`;
  if (find === replace) return 'it changes nothing';
  const found = readFileSync(path, 'utf8').split(find).length - 1;
  return found === 1 ? null : `"find" occurs ${found} times in ${file}`;
}
