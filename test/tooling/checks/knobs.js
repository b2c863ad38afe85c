// Every knob of a bundled engine is written down, known to the engine, and held to its declared effect by a test. Owns these rules.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledEngines, knobTable, pageWith } from '../knob-docs.js';
import { filesResult } from './result.js';

/** @typedef {import('../knob-docs.js').BundledEngine} BundledEngine */
/** @typedef {import('../knob-docs.js').Knob} Knob */

/** Flags that set nothing an arm could differ in. */
const NO_KNOBS = new Set(['--model', '--help', '--version']);

/**
 * @param {string} root
 * @returns {import('./result.js').CheckResult}
 */
export function knobs(root) {
  const engines = bundledEngines(root);
  const failures = engines.flatMap((engine) => [
    ...proofProblems(root, engine),
    ...pageProblems(root, engine),
    ...engineProblems(root, engine),
  ]);
  const all = engines.flatMap((engine) => engine.knobs);
  return filesResult(all.length, failures, 'knobs');
}

/**
 * @param {string} root
 * @param {BundledEngine} engine
 */
function proofProblems(root, engine) {
  return engine.knobs.flatMap(({ name, provenBy }) => {
    const at = `engines/${engine.name}.yaml: ${name}`;
    if (provenBy === undefined) return [`${at} has no provenBy`];
    const file = join(root, provenBy);
    if (!existsSync(file)) return [`${at}: there is no ${provenBy}`];
    const title = new RegExp(`describe\\(\\s*['"\`]knob: ${name}['"\`]`);
    return title.test(readFileSync(file, 'utf8'))
      ? []
      : [`${at}: ${provenBy} lacks describe('knob: ${name}', …)`];
  });
}

/**
 * @param {string} root
 * @param {BundledEngine} engine
 */
function pageProblems(root, { name, knobs: all }) {
  const file = join(root, 'docs', `${name}.md`);
  const page = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const fresh = pageWith(page, knobTable(all));
  if (fresh === undefined) return [`docs/${name}.md: has no place for the knobs`];
  return fresh === page ? [] : [`docs/${name}.md: the knobs are not those of the descriptor: npm run docs`];
}

/**
 * What the engine itself says it knows: flags at the beginning of a line, variables in brackets at its end.
 * @param {string} root
 * @param {BundledEngine} engine
 */
function engineProblems(root, { name, binary: path, knobs: all }) {
  const binary = path.replace('{preset}', 'host');
  const { stdout, status } = spawnSync(join(root, binary), ['--help'], { encoding: 'utf8' });
  if (status !== 0) return [`${binary} --help says nothing: is it built?`];
  const flags = new Set([...stdout.matchAll(/^ +(--[a-z][a-z0-9-]*)/gm)].map(([, flag = '']) => flag));
  const variables = new Set(
    [...stdout.matchAll(/\[([A-Z][A-Z0-9_]*(?:, [A-Z][A-Z0-9_]*)*)\]$/gm)].flatMap(([, list = '']) =>
      list.split(', '),
    ),
  );
  const ownFlags = all.flatMap((knob) => knob.flag ?? knob.switch ?? []);
  const ownVariables = all
    .flatMap((knob) => knob.aliases.map((alias) => alias.name))
    .filter((name) => /^[A-Z]/.test(name)); // the others are short names for arms, which no environment holds
  const missing = (/** @type {Iterable<string>} */ from, /** @type {Iterable<string>} */ among) => {
    const known = new Set(among);
    return [...new Set(from)].filter((word) => !known.has(word));
  };
  const file = `engines/${name}.yaml`;
  return [
    ...missing(ownFlags, flags).map((flag) => `${file}: ${binary} --help knows no ${flag}`),
    ...missing(flags, [...ownFlags, ...NO_KNOBS]).map(
      (flag) => `${file}: no knob has ${flag} of ${binary} --help`,
    ),
    ...missing(ownVariables, variables).map((word) => `${file}: ${binary} --help knows no variable ${word}`),
    ...missing(variables, ownVariables).map(
      (word) => `${file}: no knob has the alias ${word} of ${binary} --help`,
    ),
  ];
}
