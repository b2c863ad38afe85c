// Include arrows of native/, and that every header compiles alone. Owns the layers; compiles as little as it can: a .cc that
// includes its own header first proves that header by being built, so only headers without one are compiled here.
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { runLogged } from '../../../bin/setup/command.js';
import { listFiles } from '../files.js';
import { filesResult } from './result.js';

/** From the bottom up: a file may include its own layer or a lower one. */
const LAYERS = [
  ['base', 'formats'],
  ['device'],
  ['model'],
  ['experts'],
  ['decode', 'quantise'],
  ['engines', 'probe', 'tools'],
  ['bench', 'faults', 'fuzz'],
];

/** @param {string} path relative to native/ */
function layerOf(path) {
  const room = path.split('/')[0] ?? '';
  return LAYERS.findIndex((rooms) => rooms.includes(room));
}

/** @param {string} text */
function ownIncludes(text) {
  return [...text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)].map((match) => match[1] ?? '');
}

/**
 * @param {string} root
 * @returns {import('./result.js').CheckResult}
 */
export function nativeArrows(root) {
  const files = listFiles(root, ['native'], /\.(cc|cpp|h|cuh?)$/);
  const failures = files.flatMap((file) => {
    const path = file.slice('native/'.length);
    const layer = layerOf(path);
    if (layer === -1) return [`${file}: its room has no place in the layers`];
    const text = readFileSync(join(root, file), 'utf8');
    return [...arrowFailures(root, file, layer, ownIncludes(text)), ...ownHeaderFirst(root, path, text)];
  });
  return filesResult(files.length, failures, 'files');
}

/**
 * @param {string} root
 * @param {string} file
 * @param {number} layer
 * @param {readonly string[]} includes
 */
function arrowFailures(root, file, layer, includes) {
  return includes.flatMap((include) => {
    const target = layerOf(include);
    // Generated tables (.inc) lie beside their user and are named from there.
    if (/^\w+\.inc$/.test(include) && existsSync(join(root, file, '..', include))) return [];
    if (target === -1) return [`${file}: includes "${include}", which is no room's; write "room/file.h"`];
    if (!existsSync(join(root, 'native', include)))
      return [`${file}: includes "${include}", which does not exist`];
    return target > layer ? [`${file}: includes "${include}" of a layer above its own`] : [];
  });
}

/**
 * @param {string} root
 * @param {string} path
 * @param {string} text
 */
function ownHeaderFirst(root, path, text) {
  const stem = path.replace(/\.(cc|cu)$/, '');
  const header = [`${stem}.h`, `${stem}.cuh`].find((name) => existsSync(join(root, 'native', name)));
  if (stem === path || header === undefined) return [];
  const first = /^\s*#\s*include\s+[<"]([^>"]+)[>"]/m.exec(text)?.[1];
  return first === header
    ? []
    : [`native/${path}: must include its own "${header}" first, to prove that it compiles alone`];
}

/**
 * @param {string} root
 * @returns {Promise<import('./result.js').CheckResult>}
 */
export async function loneHeaders(root) {
  const headers = listFiles(root, ['native'], /\.h$/);
  const alone = headers.filter((header) => !existsSync(join(root, header.replace(/\.h$/, '.cc'))));
  const compiler = process.env['CXX'] ?? 'c++';
  const folder = process.env['ROTA_HEADERS_DIR'];
  const flags = [
    '-std=c++20',
    '-fsyntax-only',
    '-Wall',
    '-Wextra',
    '-Wconversion',
    '-Werror',
    '-mavx2',
    '-mfma',
    '-mf16c',
  ];
  const include = ['-I', 'native', ...(folder === undefined ? [] : ['-isystem', folder])];
  /** @type {string[]} */
  const failures = [];
  const left = [...alone];
  /** @param {number} worker */
  const compile = async (worker) => {
    for (let header = left.shift(); header !== undefined; header = left.shift()) {
      // Included, not compiled as the main file: #pragma once in a main file is a warning.
      const argv = [compiler, ...flags, ...include, '-include', header, '-x', 'c++', '/dev/null'];
      const log = join(root, 'native/build', `check-headers-${worker}.log`);
      const { code, tail } = await runLogged(argv, { cwd: root, log });
      if (code === 0) continue;
      const error = tail.find((line) => line.includes('error')) ?? '';
      failures.push(`${header}: does not compile alone: ${error}`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, (_, worker) => compile(worker)));
  return filesResult(headers.length, failures.sort(), 'headers');
}
