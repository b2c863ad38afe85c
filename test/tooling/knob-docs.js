// Owns the knob table of docs/ENGINE.md: made from the descriptor, so that no page says what the engine no longer does.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, parseDocument } from 'yaml';

const BEGIN = '<!-- The knobs: written by `npm run docs` from the descriptor. -->';
const END = '<!-- The knobs end here. -->';

/** @typedef {{name: string, values?: Record<string, unknown>, pattern?: string, form?: string}} Alias */
/**
 * @typedef {object} Knob
 * @property {string} name
 * @property {string} heading the comment above it or above an earlier one
 * @property {string} type
 * @property {string} [flag]
 * @property {string} [switch]
 * @property {string} [env]
 * @property {string[]} [prefix]
 * @property {unknown[]} [values]
 * @property {number} [min]
 * @property {number} [max]
 * @property {unknown} [default]
 * @property {Alias[]} aliases
 * @property {string} effect
 * @property {string} summary
 * @property {string} [provenBy]
 */
/** @typedef {{name: string, binary: string, knobs: Knob[]}} BundledEngine */

/**
 * @param {string} root
 * @returns {BundledEngine[]}
 */
export function bundledEngines(root) {
  const folder = join(root, 'engines');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => readEngine(readFileSync(join(folder, file), 'utf8')))
    .filter((engine) => engine !== undefined);
}

/**
 * @param {string} yaml
 * @returns {BundledEngine | undefined}
 */
function readEngine(yaml) {
  const document = parseDocument(yaml);
  const value = document.toJS();
  if (value.bundled !== true) return undefined;
  const map = document.get('knobs');
  /** @type {Knob[]} */
  const knobs = [];
  let heading = '';
  for (const { key } of isMap(map) ? map.items : []) {
    if (!isScalar(key)) continue;
    const comment = key.commentBefore ?? (knobs.length === 0 && isMap(map) ? map.commentBefore : undefined);
    heading = comment?.split('\n')[0]?.trim() ?? heading;
    const name = String(key.value);
    const spec = value.knobs[name];
    /** @type {(string | Alias)[]} */
    const aliases = spec.aliases ?? [];
    knobs.push({
      ...spec,
      name,
      heading,
      aliases: aliases.map((alias) => (typeof alias === 'string' ? { name: alias } : alias)),
    });
  }
  return { name: value.name, binary: value.binary, knobs };
}

/** @param {string} text */
const cell = (text) => text.replaceAll('|', '\\|');
/** @param {string} text */
const code = (text) => `\`${text}\``;
/** @param {unknown} value */
const worded = (value) => (value === true ? 'on' : value === false ? 'off' : String(value));

/** @param {Knob} knob */
function givenAs({ flag, switch: only, env, prefix }) {
  if (prefix !== undefined) return `${code(prefix.join(' '))} in front`;
  return code(flag ?? only ?? `${env}=`);
}

/** @param {Alias} alias */
function alsoKnownAs({ name, values, form }) {
  if (form !== undefined) return code(`${name}=${form}`);
  if (values === undefined) return code(name);
  const meanings = Object.entries(values).map(([word, value]) => `${word} is ${worded(value)}`);
  return `${code(name)} (${meanings.join(', ')})`;
}

/** @param {Knob} knob */
function taken({ type, values, min, max }) {
  const words = (values ?? []).map((value) => code(worded(value)));
  if (type === 'enum') return words.join(', ');
  if (type === 'bool') return '`on`, `off`';
  return [[type, range(min, max)].filter(Boolean).join(' '), ...words].join(', ');
}

/**
 * @param {number | undefined} min
 * @param {number | undefined} max
 */
function range(min, max) {
  if (min === undefined && max === undefined) return '';
  return max === undefined ? `from ${min}` : min === undefined ? `to ${max}` : `${min} to ${max}`;
}

/** @param {Knob} knob */
function proof({ provenBy }) {
  if (provenBy === undefined) return 'nothing yet';
  return `[${provenBy
    .split('/')
    .at(-1)
    ?.replace(/\.test\.ts$/, '')}](../${provenBy})`;
}

/** @param {readonly Knob[]} knobs */
export function knobTable(knobs) {
  const head =
    '| knob | given as | also known as | values | default | effect | what it does | proven by |\n|---|---|---|---|---|---|---|---|\n';
  const headings = [...new Set(knobs.map((knob) => knob.heading))];
  return headings
    .map((heading) => {
      const rows = knobs
        .filter((knob) => knob.heading === heading)
        .map((knob) => {
          const cells = [
            code(knob.name),
            givenAs(knob),
            knob.aliases.map(alsoKnownAs).join(', '),
            taken(knob),
            knob.default === undefined ? '' : code(worded(knob.default)),
            knob.effect,
            knob.summary,
            proof(knob),
          ];
          return `| ${cells.map(cell).join(' | ')} |\n`;
        });
      return `${heading === '' ? '' : `### ${heading}\n\n`}${head}${rows.join('')}`;
    })
    .join('\n');
}

/**
 * The page with this table in it, or undefined where the page has no place for one.
 * @param {string} page
 * @param {string} table
 */
export function pageWith(page, table) {
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END);
  if (from < 0 || to < from) return undefined;
  return `${page.slice(0, from)}${BEGIN}\n\n${table}\n${page.slice(to)}`;
}
